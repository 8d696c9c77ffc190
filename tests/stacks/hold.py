"""A training job on the fake caching allocator that counts to the byte what each of its lines holds.

hold.py EXPECTED [STEPS]
"""
import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import layers  # noqa: E402

cuda = ctypes.CDLL("libcuda.so.1")


def weights():
    kept = []
    for k in range(4):
        kept.append(layers.Linear()((k + 1) << 20))
    return kept


def forward():
    kept = []
    for k in range(6):
        scratch = layers.Linear()(3 << 19)
        kept.append(layers.Linear()((5 + k) << 18))
        scratch.free()
    return kept


def backward(kept):
    while kept:
        gradient = layers.gradient(700000)
        kept.pop().free()
        gradient.free()


def outside():
    handle = ctypes.c_uint64()
    if cuda.cuMemAlloc_v2(ctypes.byref(handle), ctypes.c_size_t(9 << 20)) != 0:
        sys.exit("no memory")


def train(steps):
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    model = weights()
    for _ in range(steps):
        backward(forward())
    outside()
    return model


model = train(int((sys.argv[2:] or ["3"])[0]))
with open(sys.argv[1], "w") as out:
    json.dump(layers.ledger.said(), out)
