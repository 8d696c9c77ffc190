"""Runs training steps whose allocations PyTorch's own history records too, with stacks of both languages.

Writes PyTorch's record of each allocation, in its order, as JSON to the file that HISTORY_OUT names: {"start":
allocations before the history began, "allocs": [{"address", "bytes", "frames": [[function, file]]}]} and the
user's own lines of the forward pass. Does not depend on gpuprof.
"""
import json
import os
from types import SimpleNamespace

os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # addr2line takes minutes on these libraries

import torch

from gpt_train import Job, batches

STEPS_BEFORE, STEPS = 2, 3


def main():
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    args = SimpleNamespace(steps=STEPS_BEFORE + STEPS, layers=12, width=512, batch=4, tokens=256, graph=False,
                           compile=False, ddp=False, two_gpus=False, dataloader_workers=0)
    job = Job(args)
    before = 0
    for i, (x, y) in enumerate(batches(args, job.devices[0], 0)):
        if i == STEPS_BEFORE:
            before = torch.cuda.memory_stats()["allocation.all.allocated"]
            torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="all", max_entries=1 << 20)
        print(f"step {i} loss {job.step(x, y).item():.4f}", flush=True)
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    job.write_peaks(None)
    path = os.environ.get("HISTORY_OUT")
    if path:
        allocs = [{"address": e["addr"], "bytes": e["size"],
                   "frames": [[f["name"], f["filename"], f["line"]] for f in e.get("frames", [])]}
                  for e in trace if e["action"] == "alloc"]
        with open(path, "w") as f:
            json.dump({"start": before, "allocs": allocs}, f)


if __name__ == "__main__":
    main()
