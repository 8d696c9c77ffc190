"""Calls each library under PyTorch, through PyTorch (layers) or directly (calls).

library_calls.py layers|calls: prints a figure that does not depend on the machine.
"""
import ctypes
import sys

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clone() * 2


class Thrice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return gradient * 3


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(16, 8))
        self.words = nn.LSTM(8, 16)

    def forward(self, x):
        y = checkpoint(self.picture, Thrice.apply(Twice.apply(x)), use_reentrant=False)
        return self.words(y.unsqueeze(0))[0].sum()


def layers():
    net = Layers().cuda()
    x = torch.randn(8, 3, 32, 32, device="cuda", requires_grad=True)
    net(x).backward()
    torch.fft.rfft(torch.randn(1 << 16, device="cuda"))
    torch.linalg.svd(torch.randn(64, 64, device="cuda"))
    torch.linalg.eigh(torch.eye(64, device="cuda"))
    torch.eye(100, device="cuda").to_sparse_csr() @ torch.ones(100, 10, device="cuda")
    print("layers", x.grad.shape == x.shape)


class Boxed(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        return operator(*args, **(kwargs or {}))


def with_triton():
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(x, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)

    x = torch.zeros(1000, device="cuda")
    add_one[(4,)](x, 1000, 256)
    return x.sum().item()


def with_ctypes():
    driver = ctypes.CDLL("libcuda.so.1")
    address = ctypes.c_uint64()
    return driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))


def calls():
    total = with_triton()
    with Boxed():
        a = torch.ones(32, 32, device="cuda")
        torch.mm(a, a, out=torch.empty_like(a))
        total += (a @ a + a).sum().item()
    print("calls", total, with_ctypes())


if __name__ == "__main__":
    {"layers": layers, "calls": calls}[sys.argv[1]]()
