"""What recording costs a launch-bound training step, measured in one process.

Steps come in pairs, one recorded and one not, whose order alternates (ABBA), so that drift of clocks, heat
and neighbours falls on both alike. Off and on are set through the process's own control page, and nothing
goes on before they are in force: up to 51 ms after a time without recording, since an idle drain thread
looks that seldom. A step after a pause is slower by itself (nothing recorded, 30 ms of pause, H200 host:
4.7% of a step, +- 1.6%). So a step that is not timed follows each switch, and every timed one follows a
step of its own kind. Each pair gives one logarithm of a ratio (a ratio itself is biased upwards by noise);
their trimmed mean (10% at each end) has a 95% interval by Student's t, printed beside the plain mean's. The
end may depend on the interval's width, never on where it lies. --json keeps every pair. With --tracker,
PyTorch is left without trace trackers while nothing is recorded. With --history, every fourth pair compares
PyTorch's own history of all stacks with nothing. --large is a step that the GPU bounds.
Run under the preload.
"""
import argparse
import ctypes
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

OFF, MEMORY, EVERYTHING, USES = 1, 2, 3, 4
HISTORY = "history"  # PyTorch's own; ours is off


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--control-level", required=True, help="the program control_level")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--half-width", type=float, default=0, help="ends before its time when the interval is that narrow")
    p.add_argument("--steps", type=int, default=1, help="steps of each kind in a pair")
    p.add_argument("--limit", type=float, default=0.01)
    p.add_argument("--null", action="store_true", help="off against off: what the method itself shows")
    p.add_argument("--uses", action="store_true", help="all that is recorded, with uses and without: GPUPROF_USES=on")
    p.add_argument("--tracker", help="libtold_trackers.so: GPUPROF_ALLOCATOR_DETAILS=on, taken away where nothing is recorded")
    p.add_argument("--history", action="store_true", help="PyTorch's own history, stacks=\"all\", in every fourth pair")
    p.add_argument("--large", action="store_true", help="a step of more than 100 ms that the GPU bounds")
    p.add_argument("--json", help="file for the figures")
    return p.parse_args()


def ring_file():
    pattern = f"{os.environ.get('GPUPROF_RING_DIR', '/dev/shm')}/gpuprof-ring-{os.getuid()}-{os.getpid()}-*"
    found = glob.glob(pattern)
    if len(found) != 1:
        raise SystemExit(f"FAIL cost: {len(found)} files match {pattern}: is this process recorded?")
    return found[0]


def outer_environment():
    """Of programs that shall not be recorded."""
    return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


class Bench:
    def __init__(self, args):
        self.args = args
        shape = SimpleNamespace(layers=12, width=512, batch=1, tokens=64, graph=False, compile=False,
                                ddp=False, two_gpus=False)
        if args.large:
            shape.width, shape.batch, shape.tokens = 2048, 8, 1024
        self.job = Job(shape)
        g = torch.Generator().manual_seed(1)
        self.level, self.steps_in_all = None, 0
        size = (shape.batch, shape.tokens)
        self.x, self.y = (torch.randint(VOCABULARY, size, generator=g).cuda() for _ in range(2))

    def take_trackers(self):
        """What the steps without recording shall not pay for, either."""
        self.told = ctypes.CDLL(self.args.tracker)
        if (found := self.told.find_trackers()) != 1:
            raise SystemExit(f"FAIL cost: {found} trackers where gpuprof's alone should be")

    def switch(self, level):
        if HISTORY in (level, self.level):
            # the list of trackers may not change while PyTorch walks it: nothing allocates here
            on = dict(enabled="all", context="all", stacks="all", max_entries=100000)
            torch.cuda.memory._record_memory_history(**on if level == HISTORY else dict(enabled=None))
        if level == HISTORY:
            if self.level != OFF:
                self.switch(OFF)
            self.level = HISTORY
            return
        if self.args.tracker:
            self.told.tell_trackers(level != OFF)
        self.control.stdin.write(f"{level}\n")
        self.control.stdin.flush()
        if self.control.stdout.readline() != f"{level}\n":
            raise SystemExit(f"FAIL cost: level {level} did not come into force")
        self.level = level

    def steps(self, number):
        self.steps_in_all += number
        start = time.perf_counter_ns()
        for _ in range(number):
            self.job.step(self.x, self.y)
            torch.cuda.synchronize()
        return (time.perf_counter_ns() - start) / number

    def block(self, level):
        if level != self.level:
            self.switch(level)
            self.steps(1)
        return self.steps(self.args.steps)

    def run(self):
        """[(nanoseconds of a step that is off, of one that is on)]"""
        off = EVERYTHING if self.args.uses else OFF
        on = off if self.args.null else USES if self.args.uses else EVERYTHING
        self.steps(20)
        if self.args.tracker:
            self.take_trackers()
        self.control = subprocess.Popen([self.args.control_level, ring_file()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=outer_environment())
        pairs, end = [], time.monotonic() + self.args.seconds
        self.history_pairs, turn = [], 0
        while time.monotonic() < end:
            is_history = self.args.history and turn % 4 == 3
            kept, other = (self.history_pairs, HISTORY) if is_history else (pairs, on)
            if len(kept) % 2:
                with_on, with_off = self.block(other), self.block(off)
            else:
                with_off, with_on = self.block(off), self.block(other)
            kept.append((with_off, with_on))
            turn += 1
            if not is_history and len(pairs) % 100 == 0 and interval(pairs)[1] <= self.args.half_width:
                break
        self.switch(EVERYTHING)
        self.control.stdin.close()
        self.control.wait()
        return pairs


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


def median_interval(values):
    """The median between the ends of its 95% interval, by order statistics."""
    values, n = sorted(values), len(values)
    half = 0.98 * math.sqrt(n)
    return values[max(0, int(n / 2 - half))], statistics.median(values), values[min(n - 1, int(n / 2 + half) + 1)]


def interval(pairs):
    """Trimmed mean of the logarithms of on / off, and half the width of its 95% interval."""
    mean, error, degrees = trimmed([math.log(on / off) for off, on in pairs])
    return mean, student_t95(degrees) * error


def main():
    args = parse()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    bench = Bench(args)
    gc.collect()
    gc.disable()
    pairs = bench.run()
    logs = [math.log(on / off) for off, on in pairs]
    plain = statistics.mean(logs)
    plain_half = student_t95(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    mean, half = interval(pairs)
    figures = {
        "pairs": len(pairs),
        "steps": args.steps,
        "step_ms": statistics.median(off for off, _ in pairs) / 1e6,
        "trimmed_mean": math.expm1(mean),
        "lower95": math.expm1(mean - half),
        "upper95": math.expm1(mean + half),
        "median": math.expm1(statistics.median(logs)),
        "mean": math.expm1(plain),
        "mean_upper95": math.expm1(plain + plain_half),
        "is_null": args.null,
        "steps_in_all": bench.steps_in_all,
    }
    if args.json:
        with open(args.json, "w") as f:
            json.dump(figures | {"off_on_ns": pairs, "off_history_ns": bench.history_pairs}, f)
    good = args.null or figures["upper95"] <= args.limit
    if args.history and len(bench.history_pairs) > 20:
        mean, half = interval(bench.history_pairs)
        print(f"     PyTorch's own history, all stacks: {math.expm1(mean):+.3%}, 95% interval {math.expm1(mean - half):+.3%} "
              f"to {math.expm1(mean + half):+.3%}, {len(bench.history_pairs)} pairs")
    name = "use_cost" if args.uses else "large_cost" if args.large else "default_cost" if args.tracker else "cost"
    print(f"{'PASS' if good else 'FAIL'} {name}{' (null)' if args.null else ''}: slow-down of a "
          f"{figures['step_ms']:.2f} ms step: {figures['trimmed_mean']:+.3%}, 95% interval "
          f"{figures['lower95']:+.3%} to {figures['upper95']:+.3%} (limit {args.limit:.1%}), median "
          f"{figures['median']:+.3%}, plain mean {figures['mean']:+.3%} up to {figures['mean_upper95']:+.3%}, "
          f"{len(pairs)} pairs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
