"""A training loop with few annotations of its own, run twice: recorded by gpuprof, and under torch.profiler.

range_twin.py [--profile FILE] [--steps N] [--workers N]: without --profile the job uses no profiler. With it, the
user annotations that torch.profiler saw are written in their order, by thread. The job uses one GPU, a loader, an
optimizer that is stepped after two micro batches, and an evaluation every fourth step.
"""
import argparse
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--profile")
p.add_argument("--steps", type=int, default=12)
p.add_argument("--workers", type=int, default=2)
args = p.parse_args()

torch.manual_seed(0)
data = TensorDataset(torch.randn(4 * args.steps, 32), torch.randn(4 * args.steps, 8))
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
# a launch: both record from here on
torch.ones(4, device="cuda").sum().item()
backwards = 0


def train():
    global backwards
    for step, (x, y) in enumerate(DataLoader(data, batch_size=4, num_workers=args.workers)):
        with torch.profiler.record_function("micro batch"):
            loss = ((model(x.cuda()) - y.cuda()) ** 2).mean()
        loss.backward()
        backwards += 1
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
        if step % 4 == 3:
            with torch.no_grad(), torch.profiler.record_function("evaluate"):
                model(x.cuda()).sum().item()
    return loss.item()


if args.profile:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        loss = train()
    seen = [e for e in profiler.events() if e.is_user_annotation]
    seen.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
    with open(args.profile, "w") as out:
        json.dump({"names": [e.name for e in seen], "backwards": backwards}, out)
else:
    loss = train()
print(f"range_twin: loss {loss:.6f}, {backwards} backward passes")
