"""Ends while three daemon threads allocate without end, each inside one call of a library.

ends_allocating.py LIBRARY
"""
import ctypes
import os
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")
library = ctypes.CDLL(sys.argv[1])
context = ctypes.c_void_p()
reading, writing = os.pipe()


def deep(frames):
    if frames:
        return deep(frames - 1)
    cuda.cuCtxSetCurrent(context)
    library.allocate_without_end(cuda.cuMemAlloc_v2, cuda.cuMemFree_v2, writing)


class Caller:
    def __call__(self, frames):
        deep(frames)


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
threads = [threading.Thread(target=Caller(), args=(10 + n,), daemon=True) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    os.read(reading, 1)
kept = [[str(n)] * 10 for n in range(20000)]  # the end of the interpreter takes a while
