"""A job that holds memory it does not use, each buffer in its own way and of its own size.

A line that allocates one has `# planted: STATE`; judge_idle.py reads them from here.
"""
import json
import os

import torch

MIB = 1 << 20


def work(x, rounds):
    for _ in range(rounds):
        x = (x @ x).softmax(-1)
    return x


def main():
    device = torch.device("cuda", 0)
    torch.manual_seed(1)
    x = torch.rand(256, 256, device=device)
    early = torch.empty(31 * MIB, dtype=torch.uint8, device=device)  # planted: early
    late = torch.zeros(37 * MIB, dtype=torch.uint8, device=device)  # planted: late
    never = torch.empty(41 * MIB, dtype=torch.uint8, device=device)  # planted: never
    between = torch.zeros(43 * MIB, dtype=torch.uint8, device=device)  # planted: between
    busy = torch.zeros(47 * MIB, dtype=torch.uint8, device=device)  # planted: busy
    late.add_(1)
    x = work(x, 200)
    busy.add_(1)
    peak = torch.empty(53 * MIB, dtype=torch.uint8, device=device)  # planted: busy
    peak.fill_(2)
    busy.add_(1)
    del peak
    x = work(x, 200)
    early.fill_(3)
    total = int(early[:8].sum()) + int(between[:8].sum()) + int(busy[:8].sum())
    print(f"total {total} {x.sum().item():.3f} {never.numel()} {late.numel()}", flush=True)
    path = os.environ.get("PEAKS_OUT")
    if path:
        with open(path, "w") as file:
            json.dump([{"device": 0, "allocated": torch.cuda.max_memory_allocated()}], file)


if __name__ == "__main__":
    main()
