"""Checks `gpuprof diff` and `gpuprof check` on recordings of a job without and with gradient checkpointing.

judge_diff.py --gpuprof PROGRAM --before FILE --after FILE --again FILE --before-peaks FILE --after-peaks FILE --baseline FILE
"""
import argparse
import json
import os
import subprocess
import sys

MIB = 1 << 20


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("gpuprof", "before", "after", "again", "before-peaks", "after-peaks", "baseline"):
        p.add_argument(f"--{option}", required=True)
    return p.parse_args()


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} diff: {what}: {figures}", flush=True)
    return not holds


class Program:
    def __init__(self, path):
        self.path = path
        self.plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}

    def run(self, *words):
        return subprocess.run([self.path, *words], capture_output=True, text=True, env=self.plain)

    def report(self, command, *words):
        """The exit status and the output of --json."""
        done = self.run(command, "--json", *words)
        if done.returncode not in (0, 1):
            sys.exit(f"FAIL diff: {command} {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.returncode, json.loads(done.stdout)


def allocated(report):
    return next(curve for curve in report["curves"] if curve["of"] == "allocated")


def line_of(group):
    """The job's innermost own frame; before Python 3.11 a function's name lacks its class."""
    for frame in group["stack"]:
        if frame["file"] and frame["file"].endswith("gpt_train.py"):
            return frame["function"]
    return None


def is_of_block(group):
    function = line_of(group)
    return bool(function) and (function.startswith("Block.") or function in ("attend", "forward"))


def judge_peaks(args, report):
    failures = 0
    for side, path in enumerate((args.before_peaks, args.after_peaks)):
        with open(path) as file:
            said = json.load(file)["devices"][0]
        for key in ("allocated", "reserved"):
            ours = report["devices"][0][f"{key}_bytes"][side]
            failures += claim(f"{key} peak {'AB'[side]} is PyTorch's own", ours == said[f"{key}_peak_bytes"], ours)
    return failures


def judge_changes(report):
    curve = allocated(report)
    groups, failures = curve["groups"], 0
    change = sum(g["change_bytes"][1] for g in groups)
    failures += claim("changes of lines add up", change == curve["live_bytes"][1] - curve["live_bytes"][0], change)
    failures += claim("there is less", change < 0, f"{change / MIB:.1f} MiB")
    less = [g for g in groups if g["change_bytes"][1] < 0]
    first = groups[0]
    failures += claim("what changed most is a line of the blocks, and less", is_of_block(first) and first in less,
                      f"{first['key']}: {first['change_bytes'][1] / MIB:.1f} MiB")
    of_blocks = sum(g["change_bytes"][1] for g in less if is_of_block(g))
    share = of_blocks / (sum(g["change_bytes"][1] for g in less) or 1)
    failures += claim("two thirds and more of what is less are the blocks' activations", share >= 2 / 3, f"{share:.3f}")
    return failures


def judge_order(program, args, there):
    _, back = program.report("diff", "--by", "line", args.after, args.before)
    changes = [{g["key"]: g["change_bytes"][1] for g in allocated(r)["groups"]} for r in (there, back)]
    turned = {key: -change for key, change in changes[1].items()}
    return claim("the other order has the other signs", changes[0] == turned, f"{len(turned)} lines")


def judge_same(program, args):
    status, report = program.report("diff", args.before, args.before)
    failures = claim("a recording has no difference from itself", status == 0 and not report["different"], status)
    _, report = program.report("diff", args.before, args.again)
    curve = allocated(report)
    return failures + claim("the same job again holds the same by stack at its peak", curve["changed"] == 0,
                            f"{curve['changed']} of {curve['changed'] + curve['unchanged']} groups differ")


def judge_check(program, args):
    update = program.run("check", "--baseline", args.baseline, "--update", args.after)
    failures = claim("check --update writes the baseline", update.returncode == 0, update.stderr.strip() or "exit 0")
    status, _ = program.report("check", "--baseline", args.baseline, args.after)
    failures += claim("the run of the baseline keeps it", status == 0, f"exit {status}")
    status, report = program.report("check", "--baseline", args.baseline, args.before)
    failures += claim("the job that keeps its activations does not", status == 1, f"exit {status}")
    grown = report["culprits"][0]["grown"] if report["culprits"] else [{"key": ""}]
    is_named = any(name in grown[0]["key"] for name in (" Block.", " attend", " forward"))
    failures += claim("and a line of the blocks is to blame first", is_named, grown[0]["key"])
    value = report["checks"][0]["value"]
    for limit, wanted in ((value, 0), (value - 1, 1)):
        status, _ = program.report("check", "--max-allocated", str(limit), args.before)
        failures += claim(f"--max-allocated {limit}", status == wanted, f"exit {status}")
    return failures


def main():
    args = parse()
    program = Program(args.gpuprof)
    status, by_line = program.report("diff", "--by", "line", args.before, args.after)
    failures = claim("diff says that they differ", status == 1 and by_line["different"], f"exit {status}")
    failures += judge_peaks(args, by_line)
    failures += judge_changes(by_line)
    failures += judge_order(program, args, by_line)
    failures += judge_same(program, args)
    failures += judge_check(program, args)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
