"""Measures how much slower PyTorch's operators are while the recorder's callback for ranges is added.

In one process, short bursts of an operator alternate between PyTorch with the callback and with the callback disabled
(at::disableCallback). Prints medians of the differences of neighbouring bursts, with a 95% interval. An empty range
must cost more with the callback, which proves that it was switched. Run under the preload.
"""
import argparse
import ctypes
import gc
import statistics
import time

import torch

from cost_interval import median_interval

HANDLE = 1  # PyTorch numbers callbacks from 1, and the recorder adds the first one


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=200)
    p.add_argument("--calls", type=int, default=1000, help="of a burst")
    p.add_argument("--limit", type=float, default=10, help="ns an operator, of the lower end")
    return p.parse_args()


def empty_range():
    with torch.profiler.record_function("empty"):
        pass


def switch(is_on):
    library = ctypes.CDLL("libtorch_cpu.so")
    call = library._ZN2at16reenableCallbackEm if is_on else library._ZN2at15disableCallbackEm
    call(ctypes.c_uint64(HANDLE))


def burst(is_on, operator, calls):
    switch(is_on)
    for _ in range(calls // 10):
        operator()
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(calls):
        operator()
    ns = (time.perf_counter_ns() - start) / calls
    torch.cuda.synchronize()
    return ns


def compare(operator, args):
    off, added = [], []
    for i in range(args.rounds):
        pair = {is_on: burst(is_on, operator, args.calls) for is_on in ((False, True) if i % 2 else (True, False))}
        off.append(pair[False])
        added.append(pair[True] - pair[False])
    return statistics.median(off), median_interval(added)


def verdict(is_right, text):
    print(f"{'PASS' if is_right else 'FAIL'} operator_cost: {text}")


def main():
    args = parse()
    x = torch.rand(64, 64, device="cuda")
    (x + 1).sum().item()  # the callback is added at the first launch
    gc.disable()
    for name, operator in (("empty on the host", lambda: torch.empty(8)), ("add_ on the device", lambda: x.add_(1.0)),
                           ("empty on the device", lambda: torch.empty(8, device="cuda"))):
        off, (low, median, high) = compare(operator, args)
        verdict(low <= args.limit, f"{name} takes {off:.0f} ns; with the callback {median:+.1f} ns "
                f"[{low:+.1f}, {high:+.1f}]")
    off, (low, median, high) = compare(empty_range, args)
    verdict(low > 0, f"an empty range takes {off:.0f} ns; with the callback {median:+.1f} ns "
            f"[{low:+.1f}, {high:+.1f}], so it was switched")


main()
