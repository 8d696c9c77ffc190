"""Checks the ranges of a recording against the user annotations that torch.profiler saw in a twin run.

judge_ranges.py --gpuprof PROGRAM --recording FILE --profile FILE: names, numbers and order are the same. Autograd's
engine was entered as often as backward() was called, and a forward was derived before each. The launches of all
phases together are the launches of the recording.
"""
import argparse
import collections
import json
import os
import subprocess
import sys


def run(*command):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run(command, capture_output=True, text=True, env=plain)
    if done.returncode:
        sys.exit(f"FAIL ranges: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} ranges: {what}: {figures}", flush=True)
    return not holds


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("gpuprof", "recording", "profile"):
        p.add_argument(f"--{option}", required=True)
    args = p.parse_args()
    with open(args.profile) as file:
        twin = json.load(file)
    events = [json.loads(line) for line in
              run(args.gpuprof, "dump", "--json", "--kind", "range_push", args.recording).splitlines()]
    pushed = [e["name"] for e in events if e["source"] == 2]
    engine = sum(e["source"] == 3 for e in events)
    bad = claim("torch.profiler saw annotations at all", len(twin["names"]) > 20, len(twin["names"]))
    counted, wanted = collections.Counter(pushed), collections.Counter(twin["names"])
    bad += claim("the same names, as often", counted == wanted,
                 ", ".join(f"{n} {k}" for n, k in sorted(counted.items())) +
                 "".join(f"; {n}: {counted[n]} and {wanted[n]}" for n in (counted | wanted) if counted[n] != wanted[n]))
    first = next((k for k, (a, b) in enumerate(zip(pushed, twin["names"])) if a != b), None)
    bad += claim("in the same order", pushed == twin["names"],
                 f"{len(pushed)} of them" if first is None else f"{pushed[first]} and {twin['names'][first]} at {first}")
    bad += claim("the engine was entered as often as backward() was called", engine == twin["backwards"],
                 f"{engine} and {twin['backwards']}")
    info = json.loads(run(args.gpuprof, "info", "--json", args.recording))
    total = info["events"]["launch"]
    phases = json.loads(run(args.gpuprof, "phases", "--json", args.recording))
    tree = phases["phases"] if isinstance(phases, dict) else phases
    bad += claim("launches of all phases together are those of the recording", sum(t["launches"] for t in tree) == total,
                 f"{sum(t['launches'] for t in tree)} and {total}")
    backward = [t for t in tree if t["name"] == "backward"]
    bad += claim("the engine's own threads worked for backward", bool(backward) and backward[0]["launches"] > 0,
                 backward[0]["launches"] if backward else 0)
    forward = [t for t in tree if t["source"] == "derived"]
    inside = sum(c["calls"] for t in forward for c in t["children"] if c["name"] == "micro batch")
    calls = sum(t["calls"] for t in forward)
    bad += claim("a forward is derived before each backward, around what the job names in it",
                 calls == inside == twin["backwards"] and phases["forwards_unclear"] == 0,
                 f"{calls} forwards, {inside} of its ranges, {twin['backwards']} backwards, "
                 f"{phases['forwards_unclear']} unclear")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
