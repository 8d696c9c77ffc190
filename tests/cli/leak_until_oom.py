"""Keeps 64 MiB of driver memory each step until a request fails: leak_until_oom.py."""
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
p = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
log = []


def ask(mib):
    at = ctypes.c_void_p()
    return None if cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(mib << 20)) else at


def keep():
    return ask(64)


def step():
    parts = [ask(k) for k in (3, 7, 5, 11, 2, 13, 6)]
    for k in parts:
        cuda.cuMemFree_v2(k)
    log.append(keep())
    return log[-1] is not None


while step():
    pass
