"""Checks a recording against figures of the job, PyTorch and CUPTI. Prints one PASS or FAIL line a claim.

Reads recordings only through `gpuprof info --json` and `gpuprof timeline --json`.
"""
import argparse
import json
import os
import subprocess
import sys


class Judge:
    def __init__(self, name):
        self.name, self.failures = name, 0

    def claim(self, what, holds, figures):
        self.failures += not holds
        print(f"{'PASS' if holds else 'FAIL'} {self.name}: {what}: {figures}", flush=True)

    def equal(self, what, seen, truth):
        self.claim(what, seen == truth, f"recorded {seen}, truth {truth}")


def ask(name, gpuprof, command, recording):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([gpuprof, command, "--json", recording], capture_output=True, text=True, env=plain)
    if done.returncode != 0:
        sys.exit(f"FAIL {name}: gpuprof {command} --json {recording}: exit {done.returncode}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    return said[0] if isinstance(said, list) else said


def by_device(timeline):
    return {d["device"]: d for d in timeline["devices"]}


def judge_health(judge, info):
    judge.equal("complete", info["complete"], True)
    judge.equal("memory events lost", info["lost"]["memory"], 0)
    judge.equal("launches lost", info["lost"]["launch"], 0)
    judge.equal("anomalies", info["self_check"]["anomalies"], 0)
    judge.equal("mismatches", info["self_check"]["mismatches"], 0)


def judge_torch(judge, info, timeline, peaks):
    devices = by_device(timeline)
    for truth in peaks["devices"]:
        seen = devices.get(truth["device"], {})
        for key in ("allocated_peak_bytes", "reserved_peak_bytes"):
            judge.equal(f"device {truth['device']} {key}", seen.get(key), truth[key])
        driver, reserved = seen.get("driver_peak_bytes") or 0, truth["reserved_peak_bytes"]
        judge.claim(f"device {truth['device']} driver peak holds the reserved one", driver >= reserved,
                    f"{driver} >= {reserved}")
    events = info["self_check"]["framework_events"]
    judge.claim("framework events recorded", events > 0, events)
    allocs = sum(d["block_allocs"] for d in peaks["devices"])
    judge.equal("blocks allocated", info["events"].get("block_alloc", 0), allocs)
    ooms = sum(d["ooms"] for d in peaks["devices"])
    judge.equal("framework OOMs", info["events"].get("oom", 0), ooms)


def judge_mlp(judge, info, timeline, truth):
    events = info["events"]
    judge.equal("launches", events.get("launch", 0), truth["launches"])
    judge.equal("graph launches", events.get("graph_launch", 0), truth["graph_launches"])
    judge.equal("allocations", events.get("alloc", 0), truth["allocations"])
    judge.equal("frees", events.get("free", 0), truth["frees"])
    devices = by_device(timeline)
    for d in truth["devices"]:
        seen = devices.get(d["device"], {}).get("driver_peak_bytes")
        judge.equal(f"device {d['device']} driver_peak_bytes", seen, d["driver_peak_bytes"])


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--name", required=True)
    p.add_argument("--gpuprof", required=True)
    p.add_argument("--recording", required=True)
    p.add_argument("--peaks", help="JSON of gpt_train.py: PyTorch's own peaks")
    p.add_argument("--mlp", help="stdout of mlp_train, with its line truth {...}")
    p.add_argument("--cupti", help="file of cupti_count: kernels that CUPTI counted")
    p.add_argument("--bytes-per-event", type=float, help="most bytes an event")
    return p.parse_args()


def main(args):
    judge = Judge(args.name)
    info, timeline = (ask(args.name, args.gpuprof, c, args.recording) for c in ("info", "timeline"))
    judge_health(judge, info)
    if args.peaks:
        judge_torch(judge, info, timeline, json.load(open(args.peaks)))
    if args.mlp:
        truth = [line for line in open(args.mlp) if line.startswith("truth ")]
        judge.equal("lines of truth", len(truth), 1)
        judge_mlp(judge, info, timeline, json.loads(truth[0][len("truth "):]))
    if args.cupti:
        _, kernels, _, dropped = open(args.cupti).read().split()
        judge.equal("CUPTI records dropped", int(dropped), 0)
        judge.equal("launches against CUPTI's kernels", info["events"].get("launch", 0), int(kernels))
    per_event = info["bytes_per_event"]
    if args.bytes_per_event:
        judge.claim("bytes an event", per_event is not None and per_event <= args.bytes_per_event,
                    f"{per_event} (at most {args.bytes_per_event}), file {info['file_bytes']} bytes")
    events = {k: v for k, v in info["events"].items() if v}
    print(f"     {judge.name}: events {json.dumps(events)}, lost {json.dumps(info['lost'])}, "
          f"threads {info['threads']}")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    arguments = parse()
    try:
        sys.exit(main(arguments))
    except (OSError, ValueError, KeyError, TypeError) as e:
        sys.exit(f"FAIL {arguments.name}: {type(e).__name__}: {e}")
