"""A training loop on the fake driver that warms up, fills a cache and evaluates.
Each step keeps 512 bytes (or BYTES) and a stream.
leaky_loop.py STEPS [BYTES [deep | filling | three]]
deep: a function that calls itself, each time to another depth, keeps the bytes
filling: a cache keeps them, once for each of STEPS random keys
three: three lines keep them
"""
import ctypes
import random
import sys

from fake_blocks import blocks, cuda


def call(name, *arguments):
    result = cuda[name](*arguments)
    if result:
        sys.exit(f"{name}: {result}")


def kernels(*names):
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), b"image")
    found = {}
    for name in names:
        found[name] = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(found[name]), module, name.encode())
    return found


KERNELS = kernels("embed", "layer", "head", "loss", "layer_back", "tune", "adam", "accuracy")


def launch(name):
    call("cuLaunchKernel", KERNELS[name], 1, 1, 1, 1, 1, 1, 0, None, None, None)


def forward(size, kept):
    for name in ("embed", "layer", "layer", "layer", "head"):
        kept.append(blocks.allocate(0, size))
        launch(name)


def evaluate():
    for _ in range(2):
        kept = []
        forward(65536, kept)
        launch("accuracy")
        for block in kept:
            blocks.release(block)


KIND = (sys.argv + ["", ""])[3]
SIZE = int((sys.argv + [512])[2])
seen = set()


def keep(depth, losses):
    if depth:
        keep(depth - 1, losses)
    else:
        losses.append(blocks.allocate(0, SIZE))


def look_up(key, losses):
    if key not in seen:
        seen.add(key)
        losses.append(blocks.allocate(0, SIZE))


def step(number, cache, moments, losses):
    kept = []
    forward(65536, kept)
    if number < 2:
        for _ in range(10):
            launch("tune")
    if number % 4 not in cache:
        cache[number % 4] = blocks.allocate(0, 8192)
    if KIND == "deep":
        keep(number * 17 % 53, losses)
    elif KIND == "filling":
        look_up(random.randrange(int(sys.argv[1])), losses)
    elif KIND == "three":
        losses.append(blocks.allocate(0, SIZE))
        losses.append(blocks.allocate(0, 2 * SIZE))
        losses.append(blocks.allocate(0, 4 * SIZE))
    else:
        losses.append(blocks.allocate(0, SIZE))  # guilty
    launch("loss")
    while kept:
        launch("layer_back")
        blocks.release(kept.pop())
    moments = moments or [blocks.allocate(0, 65536) for _ in range(8)]
    launch("adam")
    stream = ctypes.c_void_p()
    if not KIND:
        call("cuStreamCreate", ctypes.byref(stream), 1)
    event = ctypes.c_void_p()
    call("cuEventCreate", ctypes.byref(event), 0)
    call("cuEventDestroy_v2", event)
    return moments


def main():
    random.seed(1)
    cache, moments, losses = {}, None, []
    for number in range(int(sys.argv[1])):
        moments = step(number, cache, moments, losses)
        if number % 10 == 9:
            evaluate()
    for block in losses:
        blocks.release(block)


main()
