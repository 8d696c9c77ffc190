"""Checks the memory state of a recording against snapshots that PyTorch itself took. One PASS or FAIL line a claim.

judge_snapshots.py --name NAME --gpuprof PROGRAM --recording FILE --snapshots FILE: for the n-th snapshot, compares
every segment and block of `gpuprof frag --json --at snapshot:n` in address, sizes, state, stream and pool.
"""
import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

STATES = {"active_allocated": "allocated", "active_pending_free": "pending", "inactive": "free"}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("name", "gpuprof", "recording", "snapshots"):
        p.add_argument(f"--{option}", required=True)
    return p.parse_args()


def ask(args, number):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([args.gpuprof, "frag", "--json", "--at", f"snapshot:{number}", args.recording],
                          capture_output=True, text=True, env=plain)
    if done.returncode:
        sys.exit(f"FAIL {args.name}: gpuprof frag --at snapshot:{number}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def theirs(snapshot):
    """{(device, address): (PyTorch's segment, {address: its block})}"""
    found = {}
    for s in snapshot["segments"]:
        blocks = {b["address"]: (b["size"], b["requested_size"] if b["state"] != "inactive" else 0, STATES[b["state"]])
                  for b in s["blocks"]}
        about = {"bytes": s["total_size"], "stream": s["stream"], "size_class": s["segment_type"],
                 "pool": list(s["segment_pool_id"]), "is_expandable": s["is_expandable"],
                 "allocated_bytes": s["allocated_size"], "active_bytes": s["active_size"],
                 "requested_bytes": s["requested_size"]}
        found[s["device"], s["address"]] = (about, blocks)
    return found


def ours(said):
    found = {}
    for device in said["devices"]:
        for s in device["segments"]:
            blocks = {int(b["address"], 16): (b["bytes"], b["requested_bytes"], b["state"]) for b in s["blocks"]}
            active = [b for b in blocks.values() if b[2] != "free"]
            about = {"bytes": s["bytes"], "stream": s["stream"] and int(s["stream"], 16), "size_class": "small" if s["small"] else "large",
                     "pool": s["pool"], "is_expandable": s["expandable"],
                     "allocated_bytes": sum(b[0] for b in active if b[2] == "allocated"),
                     "active_bytes": sum(b[0] for b in active),
                     "requested_bytes": sum(b[1] or 0 for b in active)}
            found[device["device"], int(s["address"], 16)] = (about, blocks)
    return found


def differences(truth, seen):
    """A line for each; a segment or block that one side lacks counts as one difference."""
    for key in sorted(truth.keys() | seen.keys()):
        if key not in seen or key not in truth:
            yield f"segment {key[1]:#x} is only {'ours' if key in seen else 'theirs'}"
            continue
        (a, blocks), (b, own) = truth[key], seen[key]
        for what in a:
            if a[what] != b[what]:
                yield f"segment {key[1]:#x} {what}: recorded {b[what]}, truth {a[what]}"
        for address in sorted(blocks.keys() | own.keys()):
            if blocks.get(address) != own.get(address):
                yield f"block {address:#x}: recorded {own.get(address)}, truth {blocks.get(address)}"


def main():
    args = parse()
    with open(args.snapshots) as file:
        taken = json.load(file)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: ask(args, n), range(len(taken))))
    segments = blocks = pending = private = 0
    wrong = []
    for number, (snapshot, said) in enumerate(zip(taken, answers)):
        truth = theirs(snapshot)
        segments += len(truth)
        blocks += sum(len(b) for _, b in truth.values())
        pending += sum(x[2] == "pending" for _, b in truth.values() for x in b.values())
        private += sum(a["pool"] != [0, 0] for a, _ in truth.values())
        wrong += [f"snapshot {number}: {d}" for d in differences(truth, ours(said))]
    for line in wrong[:12]:
        print(f"     {line}")
    print(f"{'PASS' if not wrong and blocks else 'FAIL'} {args.name}: {len(taken)} snapshots, {segments} segments "
          f"({private} in private pools) and {blocks} blocks ({pending} pending a free): {len(wrong)} differences", flush=True)
    return bool(wrong or not blocks)


if __name__ == "__main__":
    sys.exit(main())
