"""Measures what stacks add to an allocation and its free in PyTorch, beside PyTorch's own history.

In one process, short bursts of torch.empty and its free alternate between three arms: no recording, gpuprof with the
stacks that its environment selects, and torch.cuda.memory._record_memory_history(stacks="all"). Prints the added time
of each for a pair and their ratio: medians over rounds of the difference of neighbouring bursts. On a busy host,
bursts fall into two groups, one twice as slow as the other. Run under the preload.
"""
import argparse
import gc
import json
import statistics
import subprocess
import sys
import time

import torch

from paired_cost import EVERYTHING, OFF, outer_environment, ring_file

PAIRS = 500


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--control-level", required=True, help="the program control_level")
    p.add_argument("--rounds", type=int, default=60)
    p.add_argument("--depth", type=int, default=10, help="Python functions around the allocation")
    p.add_argument("--limit", type=float, default=0.25, help="of what PyTorch's history adds")
    p.add_argument("--json", help="file for the figures")
    return p.parse_args()


def nested(depth, number):
    return nested(depth - 1, number) if depth else burst(number)


def burst(number):
    device = torch.device("cuda", 0)
    start = time.perf_counter_ns()
    for _ in range(number):
        block = torch.empty(1024, device=device)
        del block
    return (time.perf_counter_ns() - start) / number


class Bench:
    def __init__(self, args):
        self.args = args
        nested(args.depth, 100)
        self.control = subprocess.Popen([args.control_level, ring_file()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=outer_environment())

    def level(self, level):
        self.control.stdin.write(f"{level}\n")
        self.control.stdin.flush()
        if self.control.stdout.readline() != f"{level}\n":
            raise SystemExit(f"FAIL pair-cost: level {level} did not come into force")

    def history(self, is_on):
        if is_on:
            torch.cuda.memory._record_memory_history(enabled="all", stacks="all", max_entries=100000)
        else:
            torch.cuda.memory._record_memory_history(enabled=None)

    def arm(self, name):
        self.level(EVERYTHING if name == "gpuprof" else OFF)
        if name == "history":
            self.history(True)
        nested(self.args.depth, 50)
        ns = nested(self.args.depth, PAIRS)
        if name == "history":
            self.history(False)
        return ns


def main():
    args = parse()
    bench = Bench(args)
    gc.disable()
    arms = ["nothing", "gpuprof", "history"]
    ns = {name: [] for name in arms}
    for i in range(args.rounds):
        for name in arms if i % 2 else arms[::-1]:
            ns[name].append(bench.arm(name))
    bench.level(EVERYTHING)
    bench.control.stdin.close()
    bench.control.wait()
    bare = statistics.median(ns["nothing"])
    ours, theirs = (statistics.median(with_it - without for with_it, without in zip(ns[name], ns["nothing"]))
                    for name in arms[1:])
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"bare_ns": bare, "gpuprof_ns": ours, "history_ns": theirs, "rounds": ns}, f)
    good = ours <= args.limit * theirs
    print(f"{'PASS' if good else 'FAIL'} pair-cost: allocation and free take {bare:.0f} ns; gpuprof with stacks adds "
          f"{ours:.0f} ns, PyTorch's history {theirs:.0f} ns: {ours / theirs:.3f} of it (limit {args.limit})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
