"""Checks the result of `gpuprof leaks` on recordings of leak_jobs.py, whose leaks are known.

judge_leaks.py --gpuprof PROGRAM --source leak_jobs.py [--steps N] JOB=RECORDING...
Of a job with guilty lines, one of them must be suspected and no other line. Of other jobs, no line may be.
"""
import argparse
import json
import os
import re
import subprocess
import sys

SLACK = 2  # steps at both ends may be incomplete


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--gpuprof", required=True)
    p.add_argument("--source", required=True)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("recordings", nargs="+", metavar="JOB=RECORDING")
    return p.parse_args()


def guilty_lines(source):
    lines = {}
    with open(source) as file:
        for number, line in enumerate(file, 1):
            found = re.search(r"# guilty: (\w+)$", line.rstrip())
            if found:
                lines.setdefault(found[1], set()).add(number)
    return lines


def claim(job, what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} leaks-{job}: {what}: {figures}", flush=True)
    return not holds


def line_of(found, source):
    """The innermost frame in the job's own file: the line where a user would start."""
    name = os.path.basename(source)
    for frame in found["stack"]:
        if frame["file"] and os.path.basename(frame["file"]) == name:
            return frame["line"]
    return None


def leaks(gpuprof, recording, *options):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    return subprocess.run([gpuprof, "leaks", *options, recording], capture_output=True, text=True, env=plain)


def judge(args, job, recording, guilty):
    done = leaks(args.gpuprof, recording, "--json", "--exit-code")
    wanted = 1 if guilty else 0
    failures = claim(job, f"leaks --exit-code ends with {wanted}", done.returncode == wanted,
                     f"{done.returncode} {done.stderr.strip()[:300]}")
    if done.returncode not in (0, 1):
        return failures
    said = json.loads(done.stdout)
    steps = said["steps"]
    failures += claim(job, f"steps are the job's {args.steps}, within {SLACK}",
                      steps["count"] is not None and abs(steps["count"] - args.steps) <= SLACK,
                      f"{steps['count']} by {steps['source']}")
    found = [(line_of(s, args.source), s) for s in said["suspects"] + said["objects"]]
    shown = [f"line {line}, {s['count_per_step']} and {s['bytes_per_step']} bytes a step since {s['since_step']}"
             for line, s in found]
    if not guilty:
        return failures + claim(job, "nothing is suspected", not found, shown or "silent")
    failures += claim(job, "a guilty line is named", any(line in guilty for line, _ in found), shown)
    strangers = [text for (line, _), text in zip(found, shown) if line not in guilty]
    failures += claim(job, "no other line is", not strangers, strangers or "none")
    of_guilty = [s for line, s in found if line in guilty]
    if job == "deep":
        by = [(s["by"], s["stacks"], s["owner"]) for s in of_guilty]
        failures += claim(job, "it is one suspect, by line, of 20 stacks at least, of PyTorch",
                          len(by) == 1 and by[0][0] == "line" and by[0][1] >= 20 and by[0][2] == "PyTorch", by)
    else:  # a sum over stacks lists only the stacks that hold more after the warm-up
        failures += claim(job, f"it keeps them since the first step, within {SLACK}",
                          any(s["since_step"] <= 1 + SLACK for s in of_guilty), [s["since_step"] for s in of_guilty])
    failures += claim(job, "it keeps about one a step", any(0.5 <= s["count_per_step"] <= 2 for s in of_guilty),
                      [s["count_per_step"] for s in of_guilty])
    if failures:
        print(leaks(args.gpuprof, recording).stdout)
    return failures


def main():
    args = parse()
    lines = guilty_lines(args.source)
    failures = 0
    for pair in args.recordings:
        job, recording = pair.split("=", 1)
        failures += judge(args, job, recording, lines.get(job, set()))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
