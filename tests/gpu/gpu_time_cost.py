"""Measures what a window of GPU time of 2% of all steps costs over the whole run: processes in pairs.

CUPTI, once opened, makes launches slower also outside of windows, so both arms need processes of their own: recorded
with --gpu-time=step:1/50, and recorded without. The order alternates (ABBA). A figure is the mean time of a step over
all steps after a warm-up of 50. A step that the GPU bounds must keep the limit. Of one that the host bounds, whose
launches make it slower, the figure is printed. --child runs one job and prints its time.
"""
import argparse
import os
import subprocess
import sys
import time

WARM_UP, LIMIT = 50, 0.005
# width, batch, tokens, steps
SHAPES = {"gpu": (1024, 8, 512, 200), "host": (512, 4, 256, 500)}


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
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
        job.step(x, y)
        torch.cuda.synchronize()
    print((time.perf_counter_ns() - start) / steps)


def measured(args, bound, has_window):
    recording = os.path.join(args.directory, f"window-{has_window}.gpr")
    option = ["--gpu-time=step:1/50"] if has_window else []
    command = [args.gpuprof, "run", "-q", "--no-symbolize", "--force", *option, "-o", recording, "--", sys.executable,
               __file__, "--child", bound]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


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
            pairs.append((found[False], found[True]))
            print(f"     a step that the {bound} bounds: without {pairs[-1][0] / 1e6:.3f} ms, "
                  f"with a window of 2% {pairs[-1][1] / 1e6:.3f} ms", flush=True)
        figures = cost_figures(pairs)
        verdict = "    " if bound == "host" else "PASS" if figures["mean"] <= LIMIT else "FAIL"
        print(f"{verdict} gpu_time_cost: window of 2%, the {bound} bounds the step, {cost_text(figures)} "
              f"(limit of the mean {LIMIT:.1%})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
