"""Three kernels that differ in what limits them, TURNS times in turn: counter_jobs.py TURNS.

A copy with a conversion of 1 GiB is limited by DRAM, a product of two matrices by compute, and an addition of 256 MiB
reads more than it writes. Tensors are much larger than the L2 cache, so what ran before matters little. TURNS are more
than are measured: until gpuprof is ready, the first launches fill the stream's queue.
"""
import sys

import torch

turns = int(sys.argv[1])
torch.manual_seed(1)
source = torch.rand(1 << 28, device="cuda")
target = torch.empty_like(source, dtype=torch.float16)
left, right = (torch.rand(8192, 8192, device="cuda").to(torch.bfloat16) for _ in range(2))
product = torch.empty_like(left)
one, other = (torch.rand(1 << 26, device="cuda") for _ in range(2))
total = torch.empty_like(one)
for _ in range(turns):
    target.copy_(source)
    torch.matmul(left, right, out=product)
    torch.add(one, other, out=total)
torch.cuda.synchronize()
print(float(total.sum()) > 0, tuple(product.shape), target.dtype)
