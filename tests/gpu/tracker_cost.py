"""What a trace tracker costs inside PyTorch, whatever it does: the part of tier B that cannot be switched off again.

Times launch-bound steps and pairs of torch.empty and its free, attaches a tracker that does nothing, and times
them again; one process shows one change, so several processes take turns with ones that attach nothing.
Of each the tenth percentile counts; prints the medians of the changes over processes. Not under the preload.
"""
import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--tracker", required=True, help="libempty_tracker.so")
p.add_argument("--seconds", type=float, default=5, help="of steps, before and after")
p.add_argument("--processes", type=int, default=4, help="of each kind")
p.add_argument("--one", choices=("attach", "nothing"), help="be one of the processes")
args = p.parse_args()


def tenth(times):
    return statistics.quantiles(times, n=10)[0]


def one():
    import torch
    from gpt_train import Job, VOCABULARY
    from pair_cost import nested

    job = Job(SimpleNamespace(layers=12, width=512, batch=1, tokens=64, graph=False, compile=False, ddp=False,
                              two_gpus=False))
    x, y = (torch.randint(VOCABULARY, (1, 64)).cuda() for _ in range(2))

    def step():
        start = time.perf_counter_ns()
        job.step(x, y)
        torch.cuda.synchronize()
        return time.perf_counter_ns() - start

    def measure():
        end, steps = time.monotonic() + args.seconds, []
        while time.monotonic() < end:
            steps.append(step())
        # what others on the host do makes steps slower, never faster: the fast end is the job's own
        return tenth(steps), tenth([nested(10, 500) for _ in range(60)])

    for _ in range(50):
        step()
    gc.collect()
    gc.disable()
    before = measure()
    if args.one == "attach" and (failed := ctypes.CDLL(args.tracker).attach_empty_tracker()):
        sys.exit(f"FAIL tracker-cost: not attached (line {failed})")
    print(json.dumps([before, measure()]))


def main():
    change = {"nothing": [], "attach": []}
    for i in range(2 * args.processes):
        kind = ("nothing", "attach")[(i + i // 2) % 2]
        done = subprocess.run([sys.executable, __file__, "--tracker", args.tracker, "--seconds", str(args.seconds),
                               "--one", kind], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr[-2000:]}")
        (step, pair), (step_after, pair_after) = json.loads(done.stdout)
        change[kind].append((step_after / step - 1, pair_after - pair, step / 1e6, pair))
    for kind, seen in change.items():
        print(f"     tracker-cost {kind}: step of {statistics.median(s[2] for s in seen):.2f} ms "
              + ", ".join(f"{s[0]:+.2%}" for s in seen)
              + f"; pair of {statistics.median(s[3] for s in seen):.0f} ns "
              + ", ".join(f"{s[1]:+.0f}" for s in seen) + " ns")
    step, pair = (statistics.median(s[k] for s in change["attach"]) - statistics.median(s[k] for s in change["nothing"])
                  for k in (0, 1))
    noise = max(abs(s[0]) for s in change["nothing"])
    if noise > 0.01:
        print(f"SKIP tracker-cost: steps to which nothing was attached change by up to {noise:.1%} on this host")
        return
    print(f"PASS tracker-cost: an empty tracker slows a launch-bound step by {step:+.2%}, a pair by {pair:+.0f} ns")


one() if args.one else main()
