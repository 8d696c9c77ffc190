"""Trains on two GPUs of the fake driver.
Each step keeps 4096 bytes of the first and a page of pinned memory.
leak_on_one_gpu.py STEPS [BYTES]
BYTES: also from the driver, beside the framework
EVERY: an environment variable; only each EVERY-th step keeps memory, default 1
"""
import ctypes
import os
import sys

from fake_blocks import blocks, cuda


def call(name, *arguments):
    if cuda[name](*arguments):
        sys.exit(name)


contexts = [ctypes.c_void_p(), ctypes.c_void_p()]
module = ctypes.c_void_p()
sizes = {"embed": 65536, "layer": 8192, "adam": 32768}
kernels = [(name, size, ctypes.c_void_p()) for name, size in sizes.items()]
call("cuInit", 0)
for device, context in enumerate(contexts):
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", contexts[0])
call("cuModuleLoadData", ctypes.byref(module), b"image")
for name, _, kernel in kernels:
    call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())


def train(device):
    call("cuCtxSetCurrent", contexts[device])
    for _, size, kernel in kernels:
        block = blocks.allocate(device, size)
        call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        blocks.release(block)


def pin():
    page = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(page), ctypes.c_size_t(4096), 0)


def ask(size):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))


def keep():
    call("cuCtxSetCurrent", contexts[0])
    blocks.allocate(0, 4096)
    pin()
    for size in sys.argv[2:]:
        ask(int(size))


for step in range(int(sys.argv[1])):
    train(0)
    train(1)
    if step % int(os.environ.get("EVERY", "1")) == 0:
        keep()
