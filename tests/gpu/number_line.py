"""A job with PyTorch, cuBLAS and NCCL that writes results of cuMemGetInfo beside snapshots of its own.

number_line.py [--bare]: --bare runs every operation once on very small data, so that the same modules are loaded and
little other memory is used. The job does not depend on gpuprof.
"""
import argparse
import json
import os

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--bare", action="store_true")
p.add_argument("--steps", type=int, default=6)
args = p.parse_args()

import torch
import torch.distributed as dist

for key, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29533"), ("RANK", "0"), ("WORLD_SIZE", "1")):
    os.environ.setdefault(key, value)
rank = int(os.environ.get("LOCAL_RANK", "0"))
torch.cuda.set_device(rank)
taken = []


def look(what):
    torch.cuda.synchronize()
    segments = torch.cuda.memory._snapshot()["segments"]
    free, total = torch.cuda.mem_get_info()
    taken.append({"what": what, "used_bytes": total - free, "total_bytes": total,
                  "reserved_bytes": sum(s["total_size"] for s in segments)})


width = 8 if args.bare else 4096
x = torch.ones(width, width, device="cuda")
look("tensor")
y = x @ x
look("cuBLAS")
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
dist.all_reduce(y)
look("NCCL")
# runs every operation of a step once, so that its kernels are loaded before the steps begin
((y @ x).softmax(-1).half() @ x.half())
held = []
for step in range(args.steps):
    for layer in range(1 if args.bare else 12):
        y = (y @ x).softmax(-1)
        held.append(y.half() @ x.half())
    dist.all_reduce(y)
    look(f"step {step}")
    if step % 2:
        held.clear()
        torch.cuda.empty_cache()
        look(f"emptied {step}")
with open(os.environ["SNAPSHOTS_OUT"] + (f".{rank}" if "LOCAL_RANK" in os.environ else ""), "w") as out:
    json.dump(taken, out)
dist.destroy_process_group()
print("looked", len(taken), "times")
