"""Copies and waits of each kind, five times, on the driver that LD_LIBRARY_PATH has."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
size = ctypes.c_size_t


def made(call, *arguments):
    handle = ctypes.c_void_p()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


def item():
    cuda.cuMemcpyDtoHAsync_v2(pageable, memory, size(4), stream)
    cuda.cuStreamSynchronize(stream)


def pageable_copy():
    cuda.cuMemcpyHtoDAsync_v2(memory, pageable, size(1 << 16), stream)


def pinned_copies():
    cuda.cuMemcpyHtoDAsync_v2(memory, pinned, size(1 << 16), stream)
    cuda.cuMemcpyDtoDAsync_v2(memory, memory, size(4096), stream)
    cuda.cuMemsetD32Async(memory, 0, size(100), stream)


def synchronous_copy():
    cuda.cuMemcpyDtoH_v2(pinned, memory, size(4096))


def free():
    cuda.cuMemFree_v2(made(cuda.cuMemAlloc_v2, size(1 << 20)))


def timed(work):
    cuda.cuEventRecord(first, stream)
    work()
    cuda.cuEventRecord(last, stream)
    took = ctypes.c_float()
    cuda.cuEventElapsedTime(ctypes.byref(took), first, last)


assert cuda.cuInit(0) == 0
made(cuda.cuCtxCreate_v2, 0, 0)
memory = made(cuda.cuMemAlloc_v2, size(1 << 20))
pinned = made(cuda.cuMemAllocHost_v2, size(1 << 16))
stream = made(cuda.cuStreamCreate, 0)
first, last = made(cuda.cuEventCreate, 0), made(cuda.cuEventCreate, 0)
pageable = ctypes.create_string_buffer(1 << 16)
for step in range(5):
    pinned_copies()
    cuda.cuCtxSynchronize()
    item()
    pageable_copy()
    free()
    synchronous_copy()
    timed(pinned_copies)
cuda.cuMemFreeHost(made(cuda.cuMemAllocHost_v2, size(4096)))
