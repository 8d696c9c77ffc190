"""200 turns of a loop on the fake driver. Only the middle hundred is captured.

captured_loop.py queue | leak | steady
steady: until it is killed, captured from the start, with a pause after each turn, so that a busy
machine loses no event of it
queue: keeps the loss of each turn for 90 turns, so that allocations and frees are equal
leak: keeps it forever
"""
import collections
import ctypes
import itertools
import signal
import sys
import time

from fake_blocks import blocks, cuda

context, module = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), b"image") == 0
kernels = [ctypes.c_void_p() for _ in range(3)]
for k, kernel in enumerate(kernels):
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"kernel%d" % k) == 0


def turn():
    for kernel in kernels:
        activation = blocks.allocate(0, 65536)
        assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
        blocks.release(activation)
    return blocks.allocate(0, 512)


signal.alarm(200)  # ends also when the test fails
losses = collections.deque()
for number in itertools.count(200) if sys.argv[1] == "steady" else range(200):
    if number == 50:
        cuda.cuProfilerStart()
    if number == 150:
        cuda.cuProfilerStop()
    losses.append(turn())
    if sys.argv[1] == "queue" and len(losses) > 90:
        blocks.release(losses.popleft())
    if sys.argv[1] == "steady":
        blocks.release(losses.popleft())
        time.sleep(0.002)
