"""A training loop of STEPS steps, each a range "step", with torch.profiler in some of them:
gpu_time_jobs.py JOB [--profile A-B[,C-D]] [--schedule] [--out FILE] [--await GPUPROF RECORDING].

JOB is eager, compiled, graph, or ddp: a rank of torchrun, whose number then replaces %r in FILE and RECORDING. Steps count from 1 and end with a synchronize, so each operation belongs to its step.
FILE gets the operations of each profile: name, category, correlation id, begin and duration in ns, and the calls on
the host with the same ids. The steps begin once RECORDING states whether GPU time is recorded.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule

STEPS = 12
FACT_GPU_TIME = 36
OPERATIONS = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")

parser = argparse.ArgumentParser()
parser.add_argument("job", choices=["eager", "compiled", "graph", "ddp"])
parser.add_argument("--profile", default="")
parser.add_argument("--schedule", action="store_true")
parser.add_argument("--out")
parser.add_argument("--await", nargs=2, dest="awaited", metavar=("GPUPROF", "RECORDING"))
arguments = parser.parse_args()
spans = [tuple(int(word) for word in span.split("-")) for span in arguments.profile.split(",") if span]
found = []


def await_gpu_time(gpuprof, recording):
    """CUPTI opens beside the job. The reader sees what the job's recorder has written so far."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        facts = subprocess.run([gpuprof, "dump", "--json", "--bare", "--kind", "fact", recording], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        if any(json.loads(line)["key"] == FACT_GPU_TIME for line in facts.splitlines()):
            return
        time.sleep(0.05)
    raise SystemExit("gpuprof has not recorded whether it collects GPU time")


def nanoseconds(us):
    return round(float(us) * 1000)


def keep(profiler):
    """The trace has times since its own base, as microseconds with three decimals."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    rows = {"operations": [], "calls": [], "steps": []}
    for event in events:
        category = event.get("cat")
        row = {"name": event.get("name"), "begin_ns": nanoseconds(event.get("ts", 0)),
               "took_ns": nanoseconds(event.get("dur", 0)), "thread": event.get("tid"),
               "correlation": event.get("args", {}).get("correlation")}
        if category in OPERATIONS:
            rows["operations"].append(dict(row, category=category, stream=event["args"].get("stream")))
        elif category in CALLS:
            rows["calls"].append(row)
        elif category == "user_annotation" and row["name"] == "step":
            rows["steps"].append(row)
    found.append(rows)


rank = os.environ.get("LOCAL_RANK", "0")
torch.cuda.set_device(int(rank))
torch.manual_seed(1)
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8)), torch.nn.Linear(512, 1)).cuda()
if arguments.job == "ddp":
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", int(rank)))
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(256, 512, device="cuda")
pinned = torch.zeros(512, pin_memory=True)


def forward_backward():
    optimizer.zero_grad(set_to_none=False)
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def warmed_up():
    """A function for one step, after all that is done once: compilation, capture, workspaces."""
    if arguments.job == "compiled":
        model.compile()
    for _ in range(3):
        forward_backward()
    torch.cuda.synchronize()
    if arguments.job != "graph":
        return forward_backward
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            forward_backward()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        forward_backward()
    torch.cuda.synchronize()
    return graph.replay


run = warmed_up()
if arguments.awaited:
    await_gpu_time(*(word.replace("%r", rank) for word in arguments.awaited))
profiler = None
if arguments.schedule:
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], on_trace_ready=keep,
                       schedule=schedule(wait=1, warmup=1, active=2, repeat=3))
    profiler.start()
for step in range(1, STEPS + 1):
    if any(begin == step for begin, _ in spans):
        profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        profiler.start()
    with torch.profiler.record_function("step"):
        run()
        inputs[0].copy_(pinned, non_blocking=True)
        torch.zeros(100_000, device="cuda")
        torch.cuda.synchronize()
    if arguments.schedule:
        profiler.step()
    elif any(end == step for _, end in spans):
        profiler.stop()
        keep(profiler)
if arguments.schedule:
    profiler.stop()
os.write(1, f"steps {STEPS}\n".encode())  # one write: ranks share this output
if arguments.job == "ddp":
    torch.distributed.destroy_process_group()
if arguments.out:
    with open(arguments.out.replace("%r", rank), "w", encoding="utf-8") as file:
        json.dump(found, file)
