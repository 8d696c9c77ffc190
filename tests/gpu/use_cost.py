"""Measures what the scan for uses adds to a launch in PyTorch, in one process.

Short bursts of operators of one kernel each alternate between recording everything and recording everything
with uses (ABBA), switched through the process's own control page. Prints the added time of a launch:
medians over bursts with their 95% intervals. Run under the preload with GPUPROF_TRACK_ACCESS=on.
"""
import argparse
import gc
import statistics
import subprocess
import sys
import time

import torch

from cost_interval import median_interval
from paired_cost import EVERYTHING, USES, outer_environment, ring_file

LAUNCHES = 400


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--control-level", required=True, help="the program control_level")
    p.add_argument("--rounds", type=int, default=60)
    p.add_argument("--limit", type=float, default=150, help="ns, of the operators with few words: of the interval's lower end")
    return p.parse_args()


def operators():
    """Name, operator, whether the limit applies: 60 tensors fill a kernel's 4 KiB of parameters."""
    device = torch.device("cuda", 0)
    x, y = (torch.rand(64, 64, device=device) for _ in range(2))
    out = torch.empty(64, 64, device=device)
    many = [torch.rand(64, device=device) for _ in range(60)]
    return [
        ("add_", lambda: x.add_(1.0), True),
        ("mul into out", lambda: torch.mul(x, y, out=out), True),
        ("mm into out", lambda: torch.mm(x, y, out=out), True),
        ("_foreach_add_ of 60", lambda: torch._foreach_add_(many, 1.0), False),
    ]


class Bench:
    def __init__(self, args):
        self.args = args
        torch.cuda.synchronize()
        self.control = subprocess.Popen([args.control_level, ring_file()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=outer_environment())

    def level(self, level):
        self.control.stdin.write(f"{level}\n")
        self.control.stdin.flush()
        if self.control.stdout.readline() != f"{level}\n":
            raise SystemExit(f"FAIL use_cost: level {level} did not come into force")

    def burst(self, level, operator):
        self.level(level)
        for _ in range(20):
            operator()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(LAUNCHES):
            operator()
        ns = (time.perf_counter_ns() - start) / LAUNCHES
        torch.cuda.synchronize()
        return ns

    def compare(self, operator):
        off, added = [], []
        for i in range(self.args.rounds):
            if i % 2:
                a, b = self.burst(EVERYTHING, operator), self.burst(USES, operator)
            else:
                b, a = self.burst(USES, operator), self.burst(EVERYTHING, operator)
            off.append(a)
            added.append(b - a)
        return statistics.median(off), median_interval(added)


def main():
    args = parse()
    kinds = operators()
    for _, operator, _ in kinds:
        operator()
    bench = Bench(args)
    gc.collect()
    gc.disable()
    failed = 0
    for name, operator, has_limit in kinds:
        off, (low, added, high) = bench.compare(operator)
        good = low <= args.limit or not has_limit
        failed += not good
        print(f"{'PASS' if good else 'FAIL'} use_cost: {name} takes {off:.0f} ns; the scan adds {added:.0f} ns "
              f"[{low:.0f}, {high:.0f}]"
              + (f" (limit {args.limit:.0f})" if has_limit else ""), flush=True)
    bench.level(USES)
    bench.control.stdin.close()
    bench.control.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
