"""Calls of NCCL with known numbers and sizes, one rank of a torchrun job: collective_jobs.py OUT.

OUT.RANK gets for each operation its calls, its bytes as NCCL counts them, and the kernels that torch.profiler saw.
"""
import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function

CALLS = 25
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
OTHER = (rank + 1) % ranks
FROM = (rank - 1) % ranks


def floats(count):
    return torch.ones(count, device="cuda")


def exchange(out, into):
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, out, OTHER), dist.P2POp(dist.irecv, into, FROM)]):
        work.wait()


def overlapped(count):
    """Kernels of a matrix product run on the stream of the job while NCCL's runs on its own."""
    large, left = floats(count), torch.ones(2048, 2048, device="cuda")

    def run():
        work = dist.all_reduce(large, async_op=True)
        for _ in range(4):
            left @ left
        work.wait()
    return run


def operations():
    """Name, bytes of a call as NCCL counts them, the call. No two of one operation have the same size."""
    for count in (1 << 10, 3 << 18, 1 << 24):
        one, all_ranks = floats(count), floats(count * ranks)
        yield "AllReduce", 4 * count, lambda t=one: dist.all_reduce(t)
        yield "AllGather", 4 * count, lambda o=all_ranks, i=one: dist.all_gather_into_tensor(o, i)
        yield "ReduceScatter", 4 * count, lambda o=one, i=all_ranks: dist.reduce_scatter_tensor(o, i)
        yield "Broadcast", 4 * count, lambda t=one: dist.broadcast(t, src=1)
        yield "AlltoAll", 4 * count, lambda o=floats(count * ranks), i=all_ranks: dist.all_to_all_single(o, i)
        # PyTorch may make an all-to-all of sends, so these have sizes of their own
        yield "SendRecv", 4 * (count + 64), lambda o=floats(count + 64), i=floats(count + 64): exchange(o, i)
    yield "AllReduce", 4 * (5 << 20), overlapped(5 << 20)


def kernels(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return [{"name": e["name"], "begin_ns": round(float(e["ts"]) * 1000), "took_ns": round(float(e["dur"]) * 1000)}
            for e in events if e.get("cat") == "kernel"]


# connections of each kind are made by the first call, whose size no operation below has
warm, warm_all = floats(77), floats(77 * ranks)
dist.all_reduce(warm)
dist.all_gather_into_tensor(warm_all, warm)
dist.reduce_scatter_tensor(warm, warm_all)
dist.broadcast(warm, src=1)
dist.all_to_all_single(floats(77 * ranks), warm_all)
exchange(warm, floats(77))
torch.cuda.synchronize()

found = []
for name, size, call in operations():
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(CALLS):
            with record_function("step"):
                call()
        torch.cuda.synchronize()
    found.append({"operation": name, "bytes": size, "calls": CALLS, "kernels": kernels(profiler)})
with open(f"{sys.argv[1]}.{rank}", "w", encoding="utf-8") as out:
    json.dump({"rank": rank, "ranks": ranks, "device": torch.cuda.current_device(),
               "nccl": ".".join(map(str, torch.cuda.nccl.version())), "found": found}, out)
dist.destroy_process_group()
print(f"rank {rank} of {ranks}: {CALLS} calls of each")
