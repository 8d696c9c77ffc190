"""Pins host memory on the fake driver: 3 MiB allocated in two parts, 2 MiB of its own registered.
The peak is all of it.
pin_memory.py [N]: then pins and releases a page N times.
"""
import ctypes
import mmap
import sys

cuda = ctypes.CDLL("libcuda.so.1")
MIB = 1 << 20
context, first, second, managed = (ctypes.c_void_p() for _ in range(4))
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAllocManaged(ctypes.byref(managed), ctypes.c_size_t(64 * MIB), 1) == 0
assert cuda.cuMemHostAlloc(ctypes.byref(first), ctypes.c_size_t(MIB), 0) == 0
pages = mmap.mmap(-1, 2 * MIB)
own = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(pages)))
assert cuda.cuMemHostRegister_v2(own, ctypes.c_size_t(2 * MIB), 0) == 0
assert cuda.cuMemAllocHost_v2(ctypes.byref(second), ctypes.c_size_t(2 * MIB)) == 0
assert cuda.cuMemHostUnregister(own) == 0
assert cuda.cuMemFreeHost(second) == 0
page = ctypes.byref(second), ctypes.c_size_t(4096)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    cuda.cuMemAllocHost_v2(*page)
    cuda.cuMemFreeHost(second)
