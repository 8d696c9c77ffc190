"""Phases whose use of the GPU is known: 8 turns of 200 ms of products and 200 ms of sleep, then 1 s of copies.

Prints the beginning and end of each as JSON, in nanoseconds of CLOCK_REALTIME.
"""
import json
import time

import torch

BUSY, REST, COPY = 0.2, 0.2, 1.0
left, right = (torch.rand(8192, 8192, device="cuda").to(torch.bfloat16) for _ in range(2))
product = torch.empty_like(left)
source = torch.rand(1 << 28, device="cuda")
target = torch.empty_like(source)
phases = []


def phase(name, seconds, work):
    """Work is queued a few milliseconds ahead at most, so that it ends with its phase."""
    torch.cuda.synchronize()
    begin = time.time_ns()
    while time.time_ns() - begin < seconds * 1e9:
        work()
        torch.cuda.synchronize()
    phases.append({"name": name, "begin_ns": begin, "end_ns": time.time_ns()})


def multiply():
    for _ in range(4):
        torch.matmul(left, right, out=product)


def copy():
    for _ in range(4):
        target.copy_(source)


multiply()
copy()
torch.cuda.synchronize()
time.sleep(0.5)  # sampling has begun
for _ in range(8):
    phase("busy", BUSY, multiply)
    phase("rest", REST, lambda: time.sleep(REST))
phase("copy", COPY, copy)
time.sleep(0.2)
print(json.dumps(phases))
