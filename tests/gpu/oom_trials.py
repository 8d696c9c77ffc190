"""Fills the GPU in many ways up to a limit, reads from `gpuprof snapshot` what fits, and tries it in the same process.

oom_trials.py --gpuprof PROGRAM [--settings expandable_segments:True]: run under the preload. Claims of each state: the
largest request that cached memory serves needs no new segment, 512 bytes more need one. The largest request after a
release succeeds, 2 MiB more fail. A request that fails succeeds when the blocks that the report names are freed.
Prints one PASS or FAIL line a claim.
"""
import argparse
import json
import os
import random
import subprocess
import sys

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--gpuprof", required=True)
p.add_argument("--settings", default="", help="PYTORCH_ALLOC_CONF")
p.add_argument("--only", default="", help="states, comma-separated")
args = p.parse_args()
if args.settings:
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = args.settings

import torch

MIB = 1 << 20
LIMIT = 1024 * MIB
failures = 0


def claim(state, what, holds, figures):
    global failures
    failures += not holds
    print(f"{'PASS' if holds else 'FAIL'} fits: {args.settings or 'default'}, {state}: {what}: {figures}", flush=True)


def ask(*more):
    """The recording's state of this process at this moment."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([args.gpuprof, "snapshot", "--json", *more, str(os.getpid())], capture_output=True,
                          text=True, env=plain)
    if done.returncode:
        raise SystemExit(f"FAIL oom_trials: gpuprof snapshot: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["devices"][0]


class Held:
    """Live tensors by address, so that any block in a report can be freed."""

    def __init__(self):
        self.tensors = {}

    def add(self, size, stream=None):
        with torch.cuda.stream(stream):
            t = torch.empty(size, dtype=torch.uint8, device="cuda")
        self.tensors[t.data_ptr()] = t
        return t.data_ptr()

    def drop(self, address):
        del self.tensors[address]

    def every(self, n, offset=0):
        for address in sorted(self.tensors)[offset::n]:
            self.drop(address)


def allocator():
    s = torch.cuda.memory_stats()
    return s["reserved_bytes.all.current"], s["num_device_alloc"], s["num_alloc_retries"]


def attempt(size, stream=None):
    """None: out of memory; else whether cached memory served it."""
    before = allocator()
    try:
        with torch.cuda.stream(stream):
            t = torch.empty(size, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        return None
    cached = allocator() == before
    del t
    return cached


def fill(held, size, room=0, stream=None):
    """Allocates until the next segment would not fit."""
    while torch.cuda.memory_reserved() + max(size, 20 * MIB) + room <= LIMIT:
        held.add(size, stream)


# ---- states: each leaves the device nearly full in its own way ----
def interleaved(held):
    fill(held, 6 * MIB)
    held.every(2)


def interleaved_unevenly(held):
    draw = random.Random(7)
    while torch.cuda.memory_reserved() + 40 * MIB <= LIMIT:
        held.add(draw.choice((1, 2, 3, 5, 9)) * MIB + 512 * draw.randint(1, 900))
    for address in draw.sample(sorted(held.tensors), len(held.tensors) // 2):
        held.drop(address)


def whole_segments(held):
    fill(held, 64 * MIB)
    held.every(2)


def small_pool(held):
    fill(held, 32 * MIB, room=64 * MIB)
    for _ in range(20000):
        held.add(1500)
    for address in [a for a in sorted(held.tensors) if held.tensors[a].numel() == 1500][::3]:
        held.drop(address)


def all_live(held):
    fill(held, 20 * MIB)


def other_stream(held):
    side = torch.cuda.Stream()
    fill(held, 20 * MIB, room=500 * MIB)
    for _ in range(20):
        held.add(20 * MIB, side)
    fill(held, 20 * MIB)
    for address in sorted(held.tensors)[-15:]:
        held.drop(address)
    held.stream = side


def pending(held):
    side = torch.cuda.Stream()
    fill(held, 30 * MIB)
    with torch.cuda.stream(side):
        torch.cuda._sleep(4_000_000_000)
    for address in sorted(held.tensors)[::3]:
        held.tensors[address].record_stream(side)
        held.drop(address)
    held.keep = side


def private_pool(held):
    fill(held, 20 * MIB, room=400 * MIB)
    held.pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(held.pool):
        for _ in range(12):
            held.add(20 * MIB)
    fill(held, 20 * MIB)
    held.every(4)


def captured(held):
    x = torch.ones(4 * MIB, device="cuda")
    held.tensors[x.data_ptr()] = x
    held.graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(held.graph):
        y = x * 2
        z = (y + 1).sum()
    held.kept = (y, z)
    fill(held, 26 * MIB)
    held.every(3)


def lengths(held):
    draw = random.Random(3)
    for _ in range(400):
        if torch.cuda.memory_reserved() + 130 * MIB > LIMIT and held.tensors:
            break
        held.add(draw.randint(1, 60 * MIB))
        if draw.random() < 0.55:
            held.drop(draw.choice(sorted(held.tensors)))


def growing_cache(held):
    kept = [held.add(MIB) for _ in range(6)]
    size = MIB
    while torch.cuda.memory_reserved() + 2 * size + 40 * MIB <= LIMIT:
        size += 3 * MIB + 512
        for i, old in enumerate(kept):
            if torch.cuda.memory_reserved() + size + 40 * MIB > LIMIT:
                break
            kept[i] = held.add(size)
            held.drop(old)


def boundary(held):
    for size in (MIB, MIB + 1, 10 * MIB - 512, 10 * MIB, 10 * MIB + 1, 2 * MIB - 1, 512, 1):
        held.add(size)
    fill(held, 11 * MIB)
    held.every(5, 1)


def random_history(seed):
    def state(held):
        draw = random.Random(seed)
        for _ in range(3000):
            size = int(2 ** draw.uniform(9, 25.5))
            if draw.random() < 0.52 and torch.cuda.memory_reserved() + 2 * size + 40 * MIB <= LIMIT:
                held.add(size)
            elif held.tensors:
                held.drop(draw.choice(sorted(held.tensors)))
    return state


STATES = {"interleaved": interleaved, "interleaved_unevenly": interleaved_unevenly, "whole_segments": whole_segments,
          "small_pool": small_pool, "all_live": all_live, "other_stream": other_stream, "pending": pending,
          "private_pool": private_pool, "captured": captured, "lengths": lengths, "growing_cache": growing_cache,
          "boundary": boundary, **{f"random_{seed}": random_history(seed) for seed in range(4)}}


def try_cached(name, held):
    """Tries the default stream's large pool, then its small one."""
    for small, least, most in ((False, MIB + 1, 1 << 62), (True, 1, MIB)):
        size = max([0] + [p["largest_request_bytes"] or 0 for p in ask()["pools"]
                          if p["small"] == small and p["stream"] == "0x0" and p["pool"] == [0, 0]])
        kind = "small" if small else "large"
        if size:
            claim(name, f"{size} bytes come from the {kind} pool's cache", attempt(size) is True, "")
        larger = max(size + 512, least)
        if larger <= most:
            served = attempt(larger)
            claim(name, f"{larger} bytes do not", served is not True,
                  {None: "out of memory", False: "a new segment", True: "cached"}[served])


def try_released(name, held):
    """The larger request first: the smaller one maps up to a page of an expandable segment more
    than its size. That page stays cached and would serve the larger one. At the end, neither is
    left.
    """
    size = ask()["largest_after_release_bytes"]
    claim(name, f"{size + 2 * MIB} bytes do not fit after a release", attempt(size + 2 * MIB) is None, "")
    if size:
        claim(name, f"{size} bytes do", attempt(size) is not None, "")
    torch.cuda.empty_cache()
    return size


def try_pins(name, held, size):
    """Frees neighbouring blocks where there are any, else blocks whose segments could then go."""
    wanted = size + 2 * MIB
    said = ask("--fit", str(wanted))["fit"]
    pins = said["neighbours"] or said["emptying"]
    if not pins:
        claim(name, f"no blocks are named for {wanted} bytes", wanted > LIMIT or not held.tensors,
              f"of {len(held.tensors)}")
        return
    unknown = [a for a in pins["blocks"] if int(a, 16) not in held.tensors]
    if unknown and getattr(held, "graph", None):
        # a graph's random state, in the small pool: PyTorch frees it with the graph
        print(f"SKIP fits: {args.settings or 'default'}, {name}: {len(unknown)} of the {len(pins['blocks'])} "
              "named blocks are PyTorch's own", flush=True)
        return
    for address in pins["blocks"]:
        held.tensors.pop(int(address, 16), None)
    kind = "side by side" if said["neighbours"] else "that empty segments"
    claim(name, f"{wanted} bytes fit once {len(pins['blocks'])} blocks {kind} are freed",
          attempt(wanted) is not None, f"{len(unknown)} of them are not the job's to free")


def run(name, state):
    held = Held()
    state(held)
    torch.cuda.current_stream().synchronize()
    # a launch outside the allocator, at which the recorder may take a snapshot
    torch.cuda._sleep(1)
    try_cached(name, held)
    size = try_released(name, held)
    try_pins(name, held, size)
    torch.cuda.synchronize()
    held.__dict__.clear()
    del held
    torch.cuda.empty_cache()
    left = torch.cuda.memory_reserved()
    claim(name, "leaves little behind", left <= 64 * MIB, f"{left} bytes")


total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction((LIMIT + 1) / total)  # the limit is a float that is rounded down
for name, state in STATES.items():
    if not args.only or name in args.only.split(","):
        run(name, state)
print(f"oom_trials: {failures} failures")
sys.exit(failures != 0)
