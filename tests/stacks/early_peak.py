"""A peak at the start, then so many small blocks that a small flight recorder forgets how it came about."""
import ctypes
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import layers  # noqa: E402

cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
random.seed(1)
allocate, release = layers.table.allocate, layers.table.release
release(allocate(0, 64 << 20))
for _ in range(300000):
    release(allocate(0, random.randrange(1, 1 << 20)))
