# Prints the time of a module's call, recorded, with its name and without: module_cost.py STEPS. Two models of the
# same shape run in turn. Only one is of PyTorch's class Module, so only its modules have names. Runs on the fake
# driver under the preload.
import ctypes
import gc
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "stacks"))
from stand_in_torch import FILE, module_class

BLOCKS, CALLS_A_BLOCK, BETWEEN_S = 12, 11, 0.01
ctypes.CDLL("libcuda.so.1")
linear = ctypes.CDLL("libtorch_cpu.so")["_ZN5torch8autograd18THPVariable_linearEm"]
linear.argtypes = [ctypes.c_size_t]


def model(file):
    class Part(module_class(file)):
        def __init__(self, **children):
            super().__init__()
            for name, child in children.items():
                setattr(self, name, child)

        def forward(self):
            linear(512)
            for child in self._modules.values():
                child()
            linear(512)

    def block():
        attention = Part(qkv=Part(), out=Part(), drop=Part())
        mlp = Part(up=Part(), act=Part(), down=Part(), drop=Part())
        return Part(norm=Part(), attention=attention, mlp=mlp)

    return Part(**{"block%d" % k: block() for k in range(BLOCKS)})


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


models, took = [model(FILE), model("/opt/plain.py")], ([], [])
gc.disable()
for step in range(int(sys.argv[1])):
    for which in (0, 1) if step % 2 else (1, 0):
        begin = time.perf_counter_ns()
        models[which]()
        took[which].append(time.perf_counter_ns() - begin)
        busy(BETWEEN_S)
calls = BLOCKS * CALLS_A_BLOCK + 1
for name, times in zip(("module_call_ns", "plain_call_ns"), took):
    print("%s %.1f" % (name, statistics.median(times[len(times) // 4:]) / calls))
