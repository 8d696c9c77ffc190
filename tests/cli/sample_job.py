"""A job on the fake driver whose GPU rests and works in turn: sample_job.py TURNS SECONDS."""
import ctypes
import os
import sys
import time

turns, seconds = (*map(float, sys.argv[1:3]), 1, 0.2)[:2]
cuda = ctypes.CDLL("libcuda.so.1")


def made(call, *arguments):
    handle = ctypes.c_void_p()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


assert cuda.cuInit(0) == 0
context = made(cuda.cuCtxCreate_v2, 0, 0)
module = made(cuda.cuModuleLoadData, b"")
kernels = [made(cuda.cuModuleGetFunction, module, name) for name in (b"rest", b"busy")]
if "both" in sys.argv:
    made(cuda.cuCtxCreate_v2, 0, 1)
    assert cuda.cuCtxSetCurrent(context) == 0
stream = made(cuda.cuStreamCreate, 1)
if "capture" in sys.argv:
    time.sleep(seconds)
    assert cuda.cuStreamBeginCapture_v2(stream, 0) == 0
for turn in range(int(turns)):
    for function in kernels:
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, None, None) == 0
        time.sleep(seconds)
if "capture" in sys.argv:
    assert cuda.cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p())) == 0
if "finalize" in sys.argv:
    assert ctypes.CDLL(None).cuptiFinalize() == 0
    time.sleep(seconds)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        cuda.cuInit(0)
        made(cuda.cuCtxCreate_v2, 0, 0)
        sys.exit()
    os.waitpid(child, 0)
if "leave" in sys.argv:
    os._exit(0)
