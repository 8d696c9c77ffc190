"""Checks the result of `gpuprof idle` for a recording with uses.

judge_idle.py --name NAME --gpuprof PROGRAM --recording FILE [--source idle_job.py] [--cost JSON] Of any job:
each launch was scanned and resolves at least one live block. Launches captured into a graph may be of
kernels that are new there; these are counted. Of the planted job: each buffer has its state. With the
figures of paired_cost.py --track-access: the cost of the scan for a launch of that step.
"""
import argparse
import json
import os
import re
import subprocess
import sys


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--name", required=True)
    p.add_argument("--gpuprof", required=True)
    p.add_argument("--recording", required=True)
    p.add_argument("--source")
    p.add_argument("--cost")
    return p.parse_args()


def claim(name, what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} {name}: {what}: {figures}", flush=True)
    return not holds


def ask(args, *words):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([args.gpuprof, *words, "--json", args.recording], capture_output=True, text=True, env=plain)
    if done.returncode != 0:
        print(f"FAIL {args.name}: gpuprof {' '.join(words)} ends with {done.returncode}: {done.stderr.strip()[:300]}")
        sys.exit(1)
    return json.loads(done.stdout)


def planted(source):
    lines = {}
    with open(source) as file:
        for number, line in enumerate(file, 1):
            found = re.search(r"(\d+) \* MIB.*# planted: (\w+)$", line.rstrip())
            if found:
                lines[number] = (int(found[1]) << 20, found[2])
    return lines


def line_of(row, source):
    for frame in row["stack"]:
        if frame["file"] and os.path.basename(frame["file"]) == os.path.basename(source):
            return frame["line"]
    return None


def judge_coverage(args, idle):
    uses, failures = idle["uses"], 0
    spare = uses["captured_launches"]  # a kernel that is new in a capture has no layout yet
    launches = uses["launches"] + spare
    failures += claim(args.name, "every launch was scanned",
                      launches - uses["scanned"] <= spare and uses["launches"] > 0,
                      f"{uses['scanned']} of {launches}, {spare} of them captured")
    failures += claim(args.name, "every launch resolves at least one live block",
                      launches - uses["resolved"] <= spare, f"{uses['resolved']} of {launches}")
    if uses["graph_launches"]:
        failures += claim(args.name, "every launch of a graph resolves live memory",
                          uses["graph_resolved"] == uses["graph_launches"],
                          f"{uses['graph_resolved']} of {uses['graph_launches']}")
    failures += claim(args.name, "nothing was lost", uses["lost"] == 0 and uses["beyond"] == 0,
                      f"{uses['lost']} events, {uses['beyond']} allocations beyond the map")
    print(f"     {uses['addresses_resolved']} of {uses['addresses']} addresses resolved, "
          f"{uses['copies_resolved']} of {uses['copies']} copies and fills")
    for device in idle["devices"]:
        states = ", ".join(f"{k} {v['bytes'] / 2**20:.1f} MiB" for k, v in device["states"].items())
        print(f"     GPU {device['device']}: {device['bytes'] / 2**20:.1f} MiB at the peak: {states}")
    return failures


def judge_planted(args, idle):
    failures, device = 0, idle["devices"][0]
    for line, (size, state) in sorted(planted(args.source).items()):
        rows = [r for r in device["rows"] if line_of(r, args.source) == line]
        found = [r["state"] for r in rows] or ["busy"]
        bytes_found = sum(r["bytes"] for r in rows)
        holds = found == [state] and (state == "busy" or size <= bytes_found <= size + (2 << 20))
        failures += claim(args.name, f"line {line}, {size >> 20} MiB, is {state}", holds,
                          f"{found}, {bytes_found / 2**20:.1f} MiB")
    return failures


def judge_cost(args, idle):
    with open(args.cost) as file:
        cost = json.load(file)
    info = ask(args, "info")
    launches = idle["uses"]["launches"]
    a_step = launches / cost["steps_in_all"]
    added = cost["trimmed_mean"] * cost["step_ms"] * 1e6 / a_step
    print(f"     {a_step:.0f} launches a step of {cost['step_ms']:.2f} ms: the scan adds {added:.0f} ns a launch "
          f"({cost['trimmed_mean']:+.3%} a step); {info['bytes_per_event']} bytes an event of the recording")
    return claim(args.name, "launches were recorded", a_step > 1, f"{launches} in {cost['steps_in_all']} steps")


def main():
    args = parse()
    idle = ask(args, "idle", "--top", "0")
    if args.cost:
        return 1 if judge_cost(args, idle) else 0
    failures = judge_coverage(args, idle)
    if args.name.endswith("planted"):
        failures += judge_planted(args, idle)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
