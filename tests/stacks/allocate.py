"""Allocates on the fake driver from many kinds of Python frames, and writes Python's own frames of each stack.

allocate.py EXPECTED ROUNDS [kill]
"""
import ctypes
import json
import os
import random
import signal
import sys
import threading

expected = []
cuda = ctypes.CDLL("libcuda.so.1")
allocated = ctypes.c_uint64()
here = ctypes.byref(allocated)
size = ctypes.c_size_t(4096)


def said(frame):
    """Argument of the call, so that it stands on the line of the call."""
    frames = []
    while frame is not None:
        code = frame.f_code
        frames.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    expected.append(frames)
    return here


def plain():
    size.value = random.randrange(1 << 30)
    if cuda.cuMemAlloc_v2(said(sys._getframe()), size) != 0:
        sys.exit("no memory")
    cuda.cuMemFree_v2(allocated)


def generator(n):
    for _ in range(n):
        plain()
        yield n


class Model:
    def __call__(self):
        return self.forward()

    def forward(self):
        plain()
        return [plain() for _ in range(2)]

    def __getattr__(self, name):
        plain()
        return name

    def __lt__(self, other):
        plain()
        return False


async def coroutine():
    plain()


def called_back(*_):
    plain()
    return 0


callback = ctypes.CFUNCTYPE(ctypes.c_int)(called_back)


def deep(n):
    if n:
        deep(n - 1)
    else:
        plain()


def through_c(n):
    """C code calls back below n functions, as in a deep model's forward pass."""
    if n:
        through_c(n - 1)
    else:
        callback()


def in_thread():
    cuda.cuCtxSetCurrent(context)
    plain()


def one_round(number):
    plain()
    list(generator(3))
    model = Model()
    model()
    model.attribute
    sorted([Model(), Model()])
    sorted([2, 1], key=lambda _: plain() or 0)
    try:
        coroutine().send(None)
    except StopIteration:
        pass
    callback()
    exec("plain()", {"plain": plain})
    deep(100)
    through_c(8)
    through_c(40)
    if number % 50 == 0:
        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()


context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
for number in range(int(sys.argv[2])):
    one_round(number)
    del expected[:-20000]
with open(sys.argv[1], "w") as out:
    json.dump(expected, out)
if sys.argv[3:]:
    os.kill(os.getpid(), signal.SIGKILL)
