"""A job with PyTorch's backend cudaMallocAsync, in which cuBLAS runs. Prints PyTorch's own peak, for judge_number_line.py."""
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch

from note_moment import note

assert torch.cuda.memory.get_allocator_backend() == "cudaMallocAsync"
x = torch.ones(5001, 1003, device="cuda")
held = []
for step in range(20):
    y = x.t() @ x
    held.append(y.softmax(-1) + step)
    if len(held) > 5:
        held.pop(0)
    if step % 2:
        note()
torch.cuda.synchronize()
print("peak", torch.cuda.max_memory_allocated())
