"""Checks `gpuprof phases` against a job's own notes of its phases.

judge_phases.py --gpuprof PROGRAM --recording FILE --job OUTPUT: calls, bytes and peaks of each phase that phase_job.py
named are equal to the byte. The launches of all phases together are the launches of the recording.
"""
import argparse
import json
import os
import subprocess
import sys


def run(*command):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run(command, capture_output=True, text=True, env=plain)
    if done.returncode:
        sys.exit(f"FAIL phases: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} phases: {what}: {figures}", flush=True)
    return not holds


def find(phases, path):
    """The phase at the end of a path of NVTX names; skips ranges that PyTorch opened between them."""
    name, _, rest = path.partition("/")
    for phase in phases:
        if phase["source"] == "nvtx" and phase["name"] == name and phase["style"] == "nested":
            return find(phase["children"], rest) if rest else phase
    below = [child for phase in phases if phase["source"] != "nvtx" for child in phase["children"]]
    return find(below, path) if below else None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("gpuprof", "recording", "job"):
        p.add_argument(f"--{option}", required=True)
    args = p.parse_args()
    with open(args.job) as file:
        job = json.loads(file.read().strip().splitlines()[-1])
    tree = run(args.gpuprof, "phases", "--json", args.recording)["phases"]
    bad = 0
    for path, told in job["phases"].items():
        phase = find(tree, path)
        if phase is None:
            bad += claim(f"{path} is there", False, "no")
            continue
        net = phase["allocated_bytes"] - phase["freed_bytes"]
        is_same = phase["calls"] == told["calls"] and net == told["net_bytes"]
        peak = told["peak_bytes"]
        bad += claim(f"{path}: calls, bytes and peak are PyTorch's", is_same and peak in (None, phase["peak_bytes"]),
                     f"{phase['calls']} calls, net {net}, peak {phase['peak_bytes']}; "
                     f"PyTorch {told['calls']}, {told['net_bytes']}, {peak}")
    backward = find(tree, "step/backward")
    bad += claim("backward has the work of autograd's threads",
                 backward is not None and backward["launches"] > 0 and backward["allocated_bytes"] > 0,
                 f"{backward['launches']} launches, {backward['allocated_bytes']} bytes" if backward else "none")
    events = run(args.gpuprof, "info", "--json", args.recording)["events"]
    marks = events.get("mark", 0)
    bad += claim("all marks are there", marks == job["marks"], f"{marks} of {job['marks']}")
    launches = sum(phase["launches"] for phase in tree if phase["style"] != "started")
    bad += claim("launches of all phases together are those of the recording", launches == events["launch"],
                 f"{launches} of {events['launch']}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
