"""Measures what a window of GPU time of 2% of all steps costs over the whole run: processes in pairs.

CUPTI, once opened, makes launches slower also outside of windows, so both arms need processes of their own: recorded
with --gpu-time=step:1/50, and recorded without. The order alternates (ABBA). A figure is the mean time of a step over
all steps after a warm-up of 50. A step that the GPU bounds must keep the limit. Of one that the host bounds, whose
launches make it slower, the figure is printed, and where the time goes: to the steps of windows or to the others.
--child runs one job and prints its times in nanoseconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WARM_UP, LIMIT = 50, 0.005
EVERY = 50  # one step of as many has a window
# width, batch, tokens, steps
SHAPES = {"gpu": (1024, 8, 512, 150), "host": (512, 4, 256, 200)}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--gpuprof")
    p.add_argument("--directory")
    p.add_argument("--pairs", type=int, default=3)
    p.add_argument("--child", choices=SHAPES)
    return p.parse_args()


def child(bound):
    from types import SimpleNamespace

    import torch

    from gpt_train import Job, VOCABULARY

    width, batch, tokens, steps = SHAPES[bound]
    shape = SimpleNamespace(layers=12, width=width, batch=batch, tokens=tokens, graph=False, compile=False, ddp=False,
                            two_gpus=False)
    job = Job(shape)
    x, y = (torch.randint(VOCABULARY, (shape.batch, shape.tokens)).cuda() for _ in range(2))
    ends = []
    for _ in range(WARM_UP + steps):
        job.step(x, y)
        torch.cuda.synchronize()
        ends.append(time.perf_counter_ns())
    print(json.dumps([end - begin for begin, end in zip(ends[WARM_UP - 1:], ends[WARM_UP:])]))


def measured(args, bound, has_window):
    recording = os.path.join(args.directory, f"window-{has_window}.gpr")
    option = [f"--gpu-time=step:1/{EVERY}"] if has_window else []
    command = [args.gpuprof, "run", "-q", "--no-symbolize", "--force", *option, "-o", recording, "--", sys.executable,
               __file__, "--child", bound]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def places(steps):
    """Milliseconds of a step by its place between two windows: the median, and the two slowest places."""
    by_place = [statistics.mean(steps[place::EVERY]) / 1e6 for place in range(EVERY)]
    slowest = sorted(range(EVERY), key=by_place.__getitem__)[-2:]
    return f"{statistics.median(by_place):.3f} ms, " + ", ".join(f"place {k} {by_place[k]:.3f}" for k in slowest)


def main():
    args = parse()
    if args.child:
        child(args.child)
        return 0
    from cost_interval import cost_figures, cost_text

    for bound in SHAPES:
        pairs = []
        for turn in range(args.pairs):
            order = (True, False) if turn % 2 else (False, True)
            found = {has_window: measured(args, bound, has_window) for has_window in order}
            pairs.append(tuple(statistics.mean(found[has_window]) for has_window in (False, True)))
            print(f"     a step that the {bound} bounds: without {pairs[-1][0] / 1e6:.3f} ms, "
                  f"with a window of 2% {pairs[-1][1] / 1e6:.3f} ms", flush=True)
            for has_window in (False, True):
                print(f"         {'with' if has_window else 'without'}: {places(found[has_window])}", flush=True)
        figures = cost_figures(pairs)
        verdict = "    " if bound == "host" else "PASS" if figures["mean"] <= LIMIT else "FAIL"
        print(f"{verdict} gpu_time_cost: window of 2%, the {bound} bounds the step, {cost_text(figures)} "
              f"(limit of the mean {LIMIT:.1%})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
