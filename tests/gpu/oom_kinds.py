"""Runs out of memory in every way that has a verdict, runs `gpuprof oom`, and follows each advice that should suffice.

oom_kinds.py --gpuprof PROGRAM --recording FILE [--settings expandable_segments:True]: run under the preload, which
records into FILE. Checks in each case: the verdict is the constructed one; the request has the expected size and first
function of its stack; each advice that is marked as enough makes the same request succeed. Prints one PASS or FAIL
line a claim.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--gpuprof", required=True)
p.add_argument("--recording", required=True)
p.add_argument("--settings", default="", help="PYTORCH_ALLOC_CONF")
p.add_argument("--only", default="", help="cases, comma-separated")
args = p.parse_args()
if args.settings:
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = args.settings

import torch

MIB, GIB = 1 << 20, 1 << 30
DRIVER_KEEPS = 32 * MIB  # GP_KEPT_BY_DRIVER: the most that the driver keeps of what it counts as free
TOTAL = torch.cuda.get_device_properties(0).total_memory
driver = ctypes.CDLL("libcuda.so.1")
driver.cuMemFree_v2.argtypes = [ctypes.c_uint64]
failures = 0
granted = []  # by the driver


def claim(case, what, holds, figures=""):
    global failures
    failures += not holds
    print(f"{'PASS' if holds else 'FAIL'} oom-kinds: {args.settings or 'default'}, {case}: {what}: {figures}", flush=True)


def plain():
    return {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}


def ooms(*more):
    done = subprocess.run([args.gpuprof, "oom", "--json", *more, args.recording], capture_output=True, text=True, env=plain())
    if done.returncode:
        raise SystemExit(f"FAIL oom-kinds: gpuprof oom: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["ooms"]


def newest_at():
    return max((o["at_ns"] for o in ooms()), default=-1)


def last_oom(name, before_ns):
    """The newest OOM, which must be in the file at the first look."""
    looks = 1
    while (found := ooms())[-1]["at_ns"] <= before_ns and looks < 5:
        looks += 1
    claim(name, "the first look finds it", looks == 1, f"{looks} looks")
    newest = found[-1]
    if newest["verdict"] is None:  # a repeated OOM refers to the first one like it
        newest = ooms("--number", str(newest["number"]))[-1]
    return newest


def tensor(size, stream=None):
    with torch.cuda.stream(stream):
        return torch.empty(size, dtype=torch.uint8, device="cuda")


def driver_asked(size):
    address = ctypes.c_uint64()
    if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)):
        return None
    granted.append(address.value)
    return address.value


def free_granted():
    while granted:
        driver.cuMemFree_v2(granted.pop())


def fails(ask):
    try:
        return ask() is None
    except torch.cuda.OutOfMemoryError:
        return True


class Case:
    """The live tensors, and the ways to follow each advice."""

    def __init__(self):
        self.held = {}  # address -> tensor
        self.child = None
        self.stream = None

    def hold(self, size, stream=None):
        t = tensor(size, stream)
        self.held[t.data_ptr()] = t

    def end(self):
        self.held.clear()
        self.stream = None
        free_granted()
        self.end_child()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(1.0)

    def end_child(self):
        if self.child:
            self.child.stdin.close()
            self.child.wait()
            self.child = None

    def free_blocks(self, addresses):
        unknown = [a for a in addresses if int(a, 16) not in self.held]
        for address in addresses:
            self.held.pop(int(address, 16), None)
        return not unknown

    def free_bytes(self, size):
        while size > 0 and self.held:
            size -= self.held.pop(max(self.held, key=lambda a: self.held[a].numel())).numel()


# ---- cases: each prepares the device and returns a request that fails: verdict, bytes, how to make it ----
def capacity(case):
    for _ in range(4):
        case.hold(24 * GIB)
    return "capacity", TOTAL - 64 * GIB, tensor


def limit(case):
    torch.cuda.set_per_process_memory_fraction(GIB / TOTAL)
    for _ in range(6):
        case.hold(100 * MIB)
    return "limit", 800 * MIB, tensor


def fragmentation(case):
    torch.cuda.set_per_process_memory_fraction(GIB / TOTAL)
    while torch.cuda.memory_reserved() + 20 * MIB <= GIB:
        case.hold(5 * MIB)
    for address in sorted(case.held)[::2]:
        del case.held[address]
    return "fragmentation", 200 * MIB, tensor


def stream(case):
    torch.cuda.set_per_process_memory_fraction(GIB / TOTAL)
    case.stream = torch.cuda.Stream()
    for _ in range(10):  # a little in use keeps each segment from release
        tensor(40 * MIB, case.stream)
        case.hold(2 * MIB, case.stream)
        case.hold(38 * MIB, case.stream)
    while torch.cuda.memory_reserved() + 20 * MIB <= GIB:
        case.hold(20 * MIB)
    for address in [a for a in case.held if case.held[a].numel() == 38 * MIB]:
        del case.held[address]
    return "stream or pool", 36 * MIB, tensor


def outside(case):
    tensor(100 * GIB)
    torch.cuda.empty_cache()
    driver_asked(60 * GIB)
    case.hold(20 * GIB)
    return "outside PyTorch", 60 * GIB, tensor


def another_process(case):
    tensor(100 * GIB)
    torch.cuda.empty_cache()
    taker = ("import ctypes,sys; d=ctypes.CDLL('libcuda.so.1'); d.cuInit(0); c=ctypes.c_void_p(); "
             "d.cuDevicePrimaryCtxRetain(ctypes.byref(c),0); d.cuCtxSetCurrent(c); p=ctypes.c_uint64(); "
             "print(d.cuMemAlloc_v2(ctypes.byref(p),ctypes.c_size_t(70<<30)),flush=True); sys.stdin.read()")
    case.child = subprocess.Popen([sys.executable, "-c", taker], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, env=plain())
    claim("another_process", "the other process took its memory", case.child.stdout.readline().strip() == "0")
    case.hold(30 * GIB)
    return "another process", 50 * GIB, tensor


def cache(case):
    tensor(120 * GIB)
    return "PyTorch's cache", 60 * GIB, driver_asked


def driver_capacity(case):
    case.hold(100 * GIB)
    return "capacity", 60 * GIB, driver_asked


CASES = {f.__name__: f for f in (capacity, limit, fragmentation, stream, outside, another_process, cache, driver_capacity)}


def follow(case, help, oom, size, ask):
    """Follows one advice. None: not possible here; else whether the request then succeeds."""
    kind, bytes_ = help["help"], help["bytes"]
    if kind == "free_neighbours":
        return case.free_blocks(oom["free_neighbours"]) and not fails(lambda: ask(size))
    if kind == "free_segments":
        return case.free_blocks(oom["free_segments"]) and not fails(lambda: ask(size))
    if kind == "empty_cache":
        torch.cuda.empty_cache()
    elif kind == "higher_limit":
        torch.cuda.set_per_process_memory_fraction(min(1.0, (bytes_ + 512) / TOTAL))
    elif kind == "less_outside":
        free_granted()
    elif kind == "less_by_others":
        case.end_child()
    elif kind == "less_in_use":
        case.free_bytes(bytes_)
        if not oom["framework"]:  # memory that the framework caches is not free to others
            torch.cuda.empty_cache()
    elif kind == "smaller_request":
        # the larger one first: the other maps up to a page more than its size, which stays cached
        kept = DRIVER_KEEPS if oom["refusals"] else 0
        return fails(lambda: ask(bytes_ + kept + 2 * MIB)) and not fails(lambda: ask(bytes_))
    elif kind == "fewer_streams_or_pools":
        return not fails(lambda: tensor(size, case.stream))
    else:
        return None
    return not fails(lambda: ask(size))


def meet(name):
    """Runs one case in a state of its own: (the request, how to make it, the report of it)."""
    case = Case()
    verdict, size, ask = CASES[name](case)
    torch.cuda.synchronize()
    before_ns = newest_at()
    refused = fails(lambda: ask(size))
    claim(name, f"{size} bytes are refused", refused)
    return (case, verdict, size, ask, last_oom(name, before_ns) if refused else None)


def run(name):
    case, verdict, size, ask, oom = meet(name)
    case_helps = []
    if oom:
        said = oom["verdict"]["name"]
        claim(name, f"the verdict is {verdict!r}", said == verdict, f"{said!r}: {oom['verdict']['why']}")
        claim(name, "it is of that request", 0 <= oom["bytes"] - size < 512, oom["bytes"])
        case_helps = [h for h in oom["helps"] if h["enough"]]
        functions = [f["function"] for g in oom["requester"]["groups"] for f in g["stack"]]
        claim(name, "the stack is that of who asked", "meet" in functions, " < ".join(functions[-3:]))
        claim(name, "something is said that would have helped", bool(case_helps),
              ", ".join(f"{h['help']} {h['bytes']}" for h in oom["helps"]))
    case.end()
    for help in case_helps:
        case, verdict, size, ask, again = meet(name)
        # addresses are new: follow the same advice as this run's report gives it
        same = [h for h in again["helps"] if h["help"] == help["help"]] if again else []
        served = follow(case, same[0], again, size, ask) if same else False
        if served is not None:
            claim(name, f"{help['help']} makes it succeed", served, help["text"])
        case.end()


torch.ones(1, device="cuda").sum().item()
for name in CASES:
    if not args.only or name in args.only.split(","):
        run(name)
print(f"oom_kinds: {failures} failures")
sys.exit(failures != 0)
