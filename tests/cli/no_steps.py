"""Jobs without a repetition, on the fake driver.

no_steps.py sizes | part
sizes: 100,000 allocations, each of a different size
part: random kernels, of which a third is captured
"""
import ctypes
import random
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()
address = ctypes.c_uint64()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b"image")


def allocate(size):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    return address.value


random.seed(3)
for half in range(2 if sys.argv[1] == "sizes" else 0):
    held = [allocate(1 + half * 50000 + k * 7919 % 50000) for k in range(50000)]
    while held:
        cuda.cuMemFree_v2(ctypes.c_uint64(held.pop()))
kernels = [ctypes.c_void_p() for _ in range(3)]
for k, kernel in enumerate(kernels):
    cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"kernel%d" % k)
held = []
for number in range(1200 if sys.argv[1] == "part" else 0):
    if number == 400:
        cuda.cuProfilerStart()
    if number == 800:
        cuda.cuProfilerStop()
    if held and random.random() < .5:
        cuda.cuMemFree_v2(ctypes.c_uint64(held.pop(random.randrange(len(held)))))
    else:
        held.append(allocate(512 * random.randrange(1, 40)))
    cuda.cuLaunchKernel(random.choice(kernels), 1, 1, 1, 1, 1, 1, 0, None, None, None)
