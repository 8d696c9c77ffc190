"""A training step through functions named as PyTorch's are; only lines of this file are the user's."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
library = ctypes.CDLL("libtorch_cpu.so")


class torch:
    linear = library["_ZN5torch8autograd18THPVariable_linearEm"]
    add = library["_ZN5torch8autograd15THPVariable_addEm"]
    zeros_like = library["_ZN5torch8autograd22THPVariable_zeros_likeEm"]
    backward = library["backward"]


for function in (torch.linear, torch.add, torch.zeros_like, torch.backward):
    function.argtypes = [ctypes.c_size_t]


def package(path, source):
    """The definitions of `source`, as if it lay in an installed package."""
    names = {"torch": torch}
    exec(compile(source, "/opt/venv/lib/python3/site-packages/" + path, "exec"), names)
    return names


Module = package("torch/nn/modules/module.py", """
class Module:
    def _wrapped_call_impl(self):
        return self._call_impl()
    def _call_impl(self):
        return self.forward()
    __call__ = _wrapped_call_impl
""")["Module"]
Adam = package("torch/optim/adam.py", """
class Adam:
    def step(self):
        self._init_group()
    def _init_group(self):
        torch.zeros_like(5 << 20)
        torch.zeros_like(5 << 20)
""")["Adam"]


class Block(Module):
    def forward(self):
        torch.linear(4 << 20)
        torch.add(2 << 20)


class Model(Module):
    def __init__(self):
        self.blocks = [Block() for _ in range(3)]

    def forward(self):
        for block in self.blocks:
            block()


def step(model, optimizer):
    model()
    torch.backward(3 << 20)
    optimizer.step()


context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
step(Model(), Adam())
