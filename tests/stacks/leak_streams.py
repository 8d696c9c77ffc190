"""Training steps on the fake caching allocator, each of which leaks a stream."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import layers  # noqa: E402

cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
module, gemm, softmax = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuModuleLoadData(ctypes.byref(module), b"image")
cuda.cuModuleGetFunction(ctypes.byref(gemm), module, b"gemm")
cuda.cuModuleGetFunction(ctypes.byref(softmax), module, b"softmax")


def launch(kernel):
    cuda.cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, None, None, None)


def forward():
    launch(softmax)
    return [layers.Linear()((5 + k) << 18) for k in range(6)]


def backward(kept):
    while kept:
        launch(gemm)
        gradient = layers.gradient(700000)
        kept.pop().free()
        gradient.free()


def step():
    stream = ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(stream), 0)
    backward(forward())


for _ in range(80):
    step()
