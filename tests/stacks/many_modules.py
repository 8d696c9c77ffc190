"""Calls ever new modules on the fake driver: many_modules.py module|plain MODELS CHILDREN

All of them stay. Each model has CHILDREN, which allocate 512 bytes more than the one before, eight sizes in turn, and are called once.
With `plain`, the same objects are not of PyTorch's class. Prints the processor time of a call, of the median model, in
nanoseconds, and the most memory of the process in KiB.
"""
import ctypes
import resource
import statistics
import sys
import time

from stand_in_torch import FILE, module_class

kind, models, children = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cuda = ctypes.CDLL("libcuda.so.1")
linear = ctypes.CDLL("libtorch_cpu.so")["_ZN5torch8autograd18THPVariable_linearEm"]
linear.argtypes = [ctypes.c_size_t]
Module = module_class(FILE if kind == "module" else "/opt/plain.py")


class Child(Module):
    """Little of its own, so that a million are small."""
    _pre_hooks, _forward_hooks = {}, {}

    def __init__(self):
        object.__setattr__(self, "_modules", {})

    def forward(self):
        linear(self.__dict__["bytes"])


class Model(Module):
    def forward(self):
        for child in self._modules.values():
            child()


def model(number):
    made = Model()
    for k in range(children):
        child = made._modules["part_%d_%d" % (number, k)] = Child()
        child.__dict__["bytes"] = 512 * (k % 8 + 1)
    return made


context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
took, kept = [], []
for number in range(models):
    made = model(number)
    kept.append(made)  # else the next one has its addresses
    begin = time.thread_time_ns()
    made()
    took.append((time.thread_time_ns() - begin) / children)
print("%d %d" % (statistics.median(took), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
