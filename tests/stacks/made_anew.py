# A function that stays, and one that each step makes from the same source and drops.  made_anew.py STEPS
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
scope = {"allocate": lambda: cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1024))}


def step():
    scope["allocate"]()
    exec("def made():\n    allocate()\nmade()\ndel made\n", scope)


for _ in range(int(sys.argv[1])):
    step()
