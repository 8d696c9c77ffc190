"""A job with PyTorch, cuBLAS and NCCL that writes results of cuMemGetInfo beside snapshots of its own.

number_line.py [--bare|--planted]: --bare runs every operation once on very small data, so that the same modules are
loaded and little other memory is used. --planted takes memory that PyTorch does not request, one kind after the other
(planted_memory.py). The job does not depend on gpuprof.
"""
import argparse
import json
import os
import time

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--bare", action="store_true")
p.add_argument("--planted", action="store_true")
p.add_argument("--steps", type=int, default=6)
args = p.parse_args()

import torch
import torch.distributed as dist

from note_moment import note

for key, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29533"), ("RANK", "0"), ("WORLD_SIZE", "1")):
    os.environ.setdefault(key, value)
rank = int(os.environ.get("LOCAL_RANK", "0"))
torch.cuda.set_device(rank)
taken = []


def look(what):
    torch.cuda.synchronize()
    segments = torch.cuda.memory._snapshot()["segments"]
    free, total = torch.cuda.mem_get_info()
    device = torch.cuda.get_device_properties(rank)
    taken.append({"what": what, "used_bytes": total - free, "total_bytes": total,
                  "threads": device.multi_processor_count * device.max_threads_per_multi_processor,
                  "reserved_bytes": sum(s["total_size"] for s in segments)})
    note()


def settle():
    """Makes a count of the driver due: at most one each 100 ms, at a launch after a segment was requested."""
    time.sleep(0.15)
    torch.cuda.empty_cache()
    torch.empty(32 << 20, dtype=torch.uint8, device="cuda").fill_(1)


def finish():
    with open(os.environ["SNAPSHOTS_OUT"] + (f".{rank}" if "LOCAL_RANK" in os.environ else ""), "w") as out:
        json.dump(taken, out)
    print("looked", len(taken), "times")


if args.planted:
    import planted_memory
    word = torch.zeros(1, dtype=torch.int32, device="cuda")
    note()
    settle()
    note()
    settle()
    look("nothing")
    kept = planted_memory.load_module()
    note()
    settle()
    look("module")
    planted_memory.use_local_memory(word.data_ptr())
    note()
    settle()
    look("local memory")
    other = planted_memory.start_other()
    settle()
    look("other process")
    other.stdin.close()
    other.wait()
    settle()
    look("end of the other process")
    torch.cuda.empty_cache()
    note()
    finish()
    raise SystemExit

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
finish()
dist.destroy_process_group()
