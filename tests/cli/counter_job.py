"""Three kernels in turn on the fake driver: a copy, a template of a multiplication, an addition."""
import ctypes
import os
import sys
import threading

turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
cuda = ctypes.CDLL("libcuda.so.1")
if "demangler" in sys.argv:
    ctypes.CDLL("libstdc++.so.6")


def made(call, *arguments):
    handle = ctypes.c_void_p()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


def launch(function, grid, expected=0):
    result = cuda.cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, 0, None, None, None)
    assert result == expected


assert cuda.cuInit(0) == 0
context = made(cuda.cuCtxCreate_v2, 0, 0)
module = made(cuda.cuModuleLoadData, b"")
names = b"copy_rows", b"_Z4gemmILi128EEvPKfPf", b"add_rows"
kernels = [made(cuda.cuModuleGetFunction, module, name) for name in names]
if "waiting" in sys.argv:  # kernels that wait for other processes, and one that does not
    names = b"ncclDevKernel_AllReduce_Sum_f32", b"_ZN12nvshmem_wait", b"add_rows"
    kernels = [made(cuda.cuModuleGetFunction, module, name) for name in names]
    for turn in range(turns):
        cuda.cuLaunchCooperativeKernel(kernels[2], 9, 1, 1, 128, 1, 1, 0, None, None)
if "shapes" in sys.argv:
    for turn in range(turns):
        for grid in range(1, 601):
            launch(kernels[2], grid)
    sys.exit()
if "busy" in sys.argv:  # another stream has work
    stream, event = made(cuda.cuStreamCreate, 1), made(cuda.cuEventCreate, 0)
    assert cuda.cuEventRecord(event, stream) == 0
for turn in range(turns):
    for grid, function in enumerate(kernels, 4):
        launch(function, grid)
        if "refused" in sys.argv:
            launch(function, 0, 1)
if "finalize" in sys.argv:  # as a job does that is linked with CUPTI
    assert ctypes.CDLL(None).cuptiFinalize() == 0
if "second" in sys.argv:  # the job brings a CUPTI of its own
    ctypes.CDLL("libcupti.so.12")
    ctypes.CDLL(None).cuptiActivityFlushAll(0)
if "finalize" in sys.argv or "second" in sys.argv:
    for turn in range(turns):
        launch(kernels[0], 4)
if "again" in sys.argv:  # in another context
    assert cuda.cuCtxDestroy_v2(context) == 0
    context = made(cuda.cuCtxCreate_v2, 0, 0)
    module = made(cuda.cuModuleLoadData, b"")
    kernels = [made(cuda.cuModuleGetFunction, module, name) for name in names]
    for turn in range(turns):
        launch(kernels[1], 7)
if "threads" in sys.argv:
    def storm():
        cuda.cuCtxSetCurrent(context)
        for turn in range(20000):
            launch(kernels[turn % 3], 4 + turn % 3)
    threads = [threading.Thread(target=storm) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        cuda.cuInit(0)
        made(cuda.cuCtxCreate_v2, 0, 0)
        for turn in range(turns):
            launch(kernels[0], 4)
        sys.exit()
    os.waitpid(child, 0)
if "leave" in sys.argv:  # in the middle of a measurement
    os._exit(0)
