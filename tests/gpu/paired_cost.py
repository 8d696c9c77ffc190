"""What recording costs a launch-bound training step, measured in one process.

Short blocks of steps alternate between recording on and off in the order ABBA, so that drift of
clocks, heat and neighbours falls on both alike. Off and on are set through the process's own control
page; the first step after each switch does not count. Each ABBA quad gives one slow-down, of the
medians of its blocks; the quads' trimmed mean (10% at each end) has a 95% interval by Student's t,
printed beside the plain mean. --json keeps every step's time. Run under the preload.
"""
import argparse
import gc
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from gpt_train import Job, VOCABULARY

OFF, MEMORY, EVERYTHING = 1, 2, 3


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--control-level", required=True, help="the program control_level")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--steps", type=int, default=3, help="steps a block that count")
    p.add_argument("--limit", type=float, default=0.01)
    p.add_argument("--null", action="store_true", help="off against off: what the method itself shows")
    p.add_argument("--json", help="file for the figures")
    return p.parse_args()


def ring_file():
    pattern = f"{os.environ.get('GPUPROF_RING_DIR', '/dev/shm')}/gpuprof-ring-{os.getuid()}-{os.getpid()}-*"
    found = glob.glob(pattern)
    if len(found) != 1:
        raise SystemExit(f"FAIL cost: {len(found)} files match {pattern}: is this process recorded?")
    return found[0]


class Bench:
    def __init__(self, args):
        self.args = args
        shape = SimpleNamespace(layers=12, width=512, batch=1, tokens=64, graph=False, compile=False,
                                ddp=False, two_gpus=False)
        self.job = Job(shape)
        g = torch.Generator().manual_seed(1)
        self.x, self.y = (torch.randint(VOCABULARY, (1, 64), generator=g).cuda() for _ in range(2))
        self.raw = []  # [level, nanoseconds of each step] of each block
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}

    def switch(self, level):
        self.control.stdin.write(f"{level}\n")
        self.control.stdin.flush()
        if self.control.stdout.readline() != f"{level}\n":
            raise SystemExit(f"FAIL cost: level {level} did not come into force")

    def steps(self, number):
        times = []
        for _ in range(number):
            start = time.perf_counter_ns()
            self.job.step(self.x, self.y)
            torch.cuda.synchronize()
            times.append(time.perf_counter_ns() - start)
        return times

    def block(self, level):
        self.switch(level)
        self.steps(1)
        times = self.steps(self.args.steps)
        self.raw.append([level, *times])
        return statistics.median(times)

    def run(self):
        on = OFF if self.args.null else EVERYTHING
        self.steps(20)
        self.control = subprocess.Popen([self.args.control_level, ring_file()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=self.environment)
        quads, end = [], time.monotonic() + self.args.seconds
        while time.monotonic() < end:
            # the first of a quad alternates too
            order = (OFF, on, on, OFF) if len(quads) % 2 else (on, OFF, OFF, on)
            if self.args.null:
                order = (OFF,) * 4
            times = [self.block(level) for level in order]
            inner, outer = times[1] + times[2], times[0] + times[3]
            with_on, with_off = (inner, outer) if len(quads) % 2 else (outer, inner)
            quads.append((with_on / with_off - 1, with_off / 2))
        self.switch(EVERYTHING)
        self.control.stdin.close()
        self.control.wait()
        return quads


def student_t95(degrees):
    """Two-sided 95% quantile, to four digits from 20 degrees on (Cornish-Fisher around the normal one)."""
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def trimmed(values, part=0.1):
    """Yuen's trimmed mean and its standard error: single blocks that a neighbour disturbed count less."""
    cut = int(len(values) * part)
    ordered = sorted(values)
    kept = ordered[cut:len(ordered) - cut]
    winsorized = [min(max(v, kept[0]), kept[-1]) for v in ordered]
    error = statistics.stdev(winsorized) / ((1 - 2 * part) * math.sqrt(len(values)))
    return statistics.mean(kept), error, len(kept) - 1


def main():
    args = parse()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    bench = Bench(args)
    gc.collect()
    gc.disable()
    quads = bench.run()
    slow = [q[0] for q in quads]
    plain_half = student_t95(len(slow) - 1) * statistics.stdev(slow) / math.sqrt(len(slow))
    mean, error, degrees = trimmed(slow)
    half = student_t95(degrees) * error
    figures = {
        "quads": len(quads),
        "steps_a_block": args.steps,
        "step_ms": statistics.median(q[1] for q in quads) / 1e6,
        "mean": statistics.mean(slow),
        "mean_upper95": statistics.mean(slow) + plain_half,
        "median": statistics.median(slow),
        "trimmed_mean": mean,
        "lower95": mean - half,
        "upper95": mean + half,
        "is_null": args.null,
    }
    if args.json:
        with open(args.json, "w") as f:
            json.dump(figures | {"blocks": bench.raw}, f)
    good = args.null or figures["upper95"] <= args.limit
    print(f"{'PASS' if good else 'FAIL'} cost{' (null)' if args.null else ''}: slow-down of a "
          f"{figures['step_ms']:.2f} ms step: {mean:+.3%}, 95% interval {mean - half:+.3%} to "
          f"{mean + half:+.3%} (limit {args.limit:.1%}), median {figures['median']:+.3%}, plain mean "
          f"{figures['mean']:+.3%} up to {figures['mean_upper95']:+.3%}, {len(quads)} quads")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
