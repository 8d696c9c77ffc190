"""A training loop that names its phases with torch.cuda.nvtx and notes PyTorch's memory figures at their ends.

phase_job.py [--steps N]: prints one line of JSON: for each path of phases its calls, the bytes that were allocated in
them less those freed, and the highest torch.cuda.max_memory_allocated() (where no inner phase reset it), both by
PyTorch's own count; and the number of marks.
"""
import argparse
import contextlib
import json

import torch
from torch import nn

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--steps", type=int, default=10)
args = p.parse_args()

open_phases, told = [], {}


@contextlib.contextmanager
def phase(name, is_leaf=True):
    open_phases.append(name)
    path = "/".join(open_phases)
    torch.cuda.nvtx.range_push(name)
    before = torch.cuda.memory_allocated()
    if is_leaf:
        torch.cuda.reset_peak_memory_stats()
    yield
    figures = told.setdefault(path, {"calls": 0, "net_bytes": 0, "peak_bytes": None})
    figures["calls"] += 1
    figures["net_bytes"] += torch.cuda.memory_allocated() - before
    if is_leaf:
        figures["peak_bytes"] = max(figures["peak_bytes"] or 0, torch.cuda.max_memory_allocated())
    torch.cuda.nvtx.range_pop()
    open_phases.pop()


torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(args.steps):
    with phase("step", is_leaf=False):
        with phase("data"):
            x = torch.randn(256, 512).cuda()
        with phase("forward"):
            loss = (model(x) ** 2).mean()
        with phase("backward"):
            loss.backward()
        with phase("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
    torch.cuda.nvtx.mark(f"step {step} is over")
print(json.dumps({"phases": told, "marks": args.steps}))
