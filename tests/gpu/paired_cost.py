"""Measures the cost of recording for a launch-bound training step, in one process.

Steps come in pairs, one recorded and one not, whose order alternates (ABBA), so that drift of clocks, heat
and neighbours affects both alike. The process's own control page switches recording on and off. The job waits
until a switch is in force: up to 51 ms after a time without recording, because an idle drain thread looks
that rarely. A step after a pause is slower by itself (no recording, 30 ms of pause, H200 host: 4.7% of a
step, +- 1.6%). So an untimed step follows each switch, and every timed step follows a step of its own kind.
The result is the median of the pairs and its 95% interval (cost_interval.py). The run may end depending on
the interval's width, never on its position. --json keeps every pair; pool_cost.py joins several runs.
--tracker removes PyTorch's trace trackers while recording is off. With --history, one pair of 12 compares
PyTorch's own history of all stacks with no recording. --large is a step that the GPU bounds. Run under the
preload.
"""
import argparse
import ctypes
import gc
import glob
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from cost_interval import cost_figures, cost_text, median_half_width
from gpt_train import Job, VOCABULARY

OFF, MEMORY, EVERYTHING, USES = 1, 2, 3, 4
HISTORY = "history"  # PyTorch's own history; gpuprof is off
LOOK_PAIRS = 40  # this number suffices for the interval of a median
HISTORY_TURNS = 12  # it costs ten times as much, so a few pairs suffice


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--control-level", required=True, help="the program control_level")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--half-width", type=float, default=0, help="ends before its time when the interval is that narrow")
    p.add_argument("--steps", type=int, default=1, help="steps of each kind in a pair")
    p.add_argument("--limit", type=float, default=0.01, help="of the median")
    p.add_argument("--upper-limit", type=float, help="of the upper end of its interval; else --limit")
    p.add_argument("--null", action="store_true", help="off against off: what the method itself shows")
    p.add_argument("--track-access", action="store_true", help="all that is recorded, with uses and without: GPUPROF_TRACK_ACCESS=on")
    p.add_argument("--tracker", help="libtold_trackers.so: GPUPROF_ALLOCATOR_DETAILS=on, taken away where nothing is recorded")
    p.add_argument("--history", action="store_true", help="PyTorch's own history, stacks=\"all\", in every twelfth pair")
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
    """The environment of programs that must not be recorded."""
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
        """Finds the trackers, whose cost the steps without recording must not include."""
        self.told = ctypes.CDLL(self.args.tracker)
        if (found := self.told.find_trackers()) != 1:
            raise SystemExit(f"FAIL cost: {found} trackers where gpuprof's alone should be")

    def switch(self, level):
        if HISTORY in (level, self.level):
            # the list of trackers must not change while PyTorch walks it: the job allocates nothing here
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
        off = EVERYTHING if self.args.track_access else OFF
        on = off if self.args.null else USES if self.args.track_access else EVERYTHING
        self.steps(20)
        if self.args.tracker:
            self.take_trackers()
        self.control = subprocess.Popen([self.args.control_level, ring_file()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=outer_environment())
        pairs, end = [], time.monotonic() + self.args.seconds
        self.history_pairs, turn = [], 0
        while time.monotonic() < end:
            is_history = self.args.history and turn % HISTORY_TURNS == HISTORY_TURNS - 1
            kept, other = (self.history_pairs, HISTORY) if is_history else (pairs, on)
            if len(kept) % 2:
                with_on, with_off = self.block(other), self.block(off)
            else:
                with_off, with_on = self.block(off), self.block(other)
            kept.append((with_off, with_on))
            turn += 1
            if not is_history and len(pairs) % LOOK_PAIRS == 0 and median_half_width(pairs) <= self.args.half_width:
                break
        self.switch(EVERYTHING)
        self.control.stdin.close()
        self.control.wait()
        return pairs


def main():
    args = parse()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    bench = Bench(args)
    gc.collect()
    gc.disable()
    pairs = bench.run()
    figures = cost_figures(pairs) | {"steps": args.steps, "is_null": args.null, "steps_in_all": bench.steps_in_all}
    if args.json:
        with open(args.json, "w") as f:
            json.dump(figures | {"off_on_ns": pairs, "off_history_ns": bench.history_pairs}, f)
    upper_limit = args.upper_limit or args.limit
    good = args.null or figures["median"] <= args.limit and figures["median_upper95"] <= upper_limit
    if args.history and len(bench.history_pairs) > 10:
        print(f"     PyTorch's own history, all stacks: {cost_text(cost_figures(bench.history_pairs))}")
    name = "use_cost" if args.track_access else "large_cost" if args.large else "default_cost" if args.tracker else "cost"
    print(f"{'PASS' if good else 'FAIL'} {name}{' (null)' if args.null else ''}: {cost_text(figures)}; trimmed mean "
          f"{figures['trimmed_mean']:+.3%} (limit {args.limit:.1%}, interval's {upper_limit:.1%})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
