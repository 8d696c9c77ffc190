"""Steps on the fake driver. Each replaces a buffer by another one, which is often larger.

swinging_buffer.py STEPS [leaking] [late]
leaking: by twice as much, and also keeps 512 bytes a step
late: requests memory on the second GPU after all steps
"""
import ctypes
import sys

from fake_blocks import blocks, cuda

context, module, layer, adam = (ctypes.c_void_p() for _ in range(4))
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b"image")
cuda.cuModuleGetFunction(ctypes.byref(layer), module, b"layer")
cuda.cuModuleGetFunction(ctypes.byref(adam), module, b"adam")


def launch(kernel):
    cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)


unit = 1024 if "leaking" in sys.argv else 512
buffer = blocks.allocate(0, unit)
for number in range(int(sys.argv[1])):
    kept = []
    for size in (65536, 8192):
        kept.append(blocks.allocate(0, size))
        launch(layer)
    blocks.release(buffer)
    buffer = blocks.allocate(0, unit * (number + 1 + 4 * (number % 3)))
    for block in kept:
        blocks.release(block)
    if "leaking" in sys.argv:
        blocks.allocate(0, 512)  # guilty
    launch(adam)
if "late" in sys.argv:
    address = ctypes.c_uint64()
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
    cuda.cuCtxSetCurrent(context)
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))
