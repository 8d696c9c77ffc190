"""A thread begins while the recorder waits for a slow disk, and allocates once."""
import ctypes
import os
import threading

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_void_p()


def allocate(bytes=4096):
    return cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(bytes))


def work():
    assert cuda.cuCtxSetCurrent(context) == 0 and allocate() == 0


assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert allocate() == 0
open(os.environ["SLOW_WHILE"], "w").close()
assert allocate(1 << 60) == 2  # this call fails, and its event is written at once
thread = threading.Thread(target=work)
thread.start()
thread.join()
os.unlink(os.environ["SLOW_WHILE"])
