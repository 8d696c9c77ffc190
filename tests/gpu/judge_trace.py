"""Checks a recording's events of PyTorch's allocator against PyTorch's own history, entry by entry.

The tracker's reports are converted to PyTorch's entries: an allocation with its requested bytes and stream,
a free requested and completed, segments. Both lists must be equal, from the first reported entry to the
last that PyTorch had when its history was read.
"""
import argparse
import json
import subprocess
import sys

from judge_recording import Judge, ask, judge_health


KINDS = {"block_alloc", "block_free", "block_completed", "snapshot", "oom",
         "segment_alloc", "segment_free", "segment_map", "segment_unmap"}


def entries_of(gpuprof, recording):
    """[(action, address, bytes, stream)], with None for values that the recording lacks."""
    arena, block, entries, is_told = {}, {}, [], False
    run = subprocess.run([gpuprof, "dump", "--json", recording], stdout=subprocess.PIPE, text=True, check=True)
    for line in run.stdout.splitlines():
        e = json.loads(line)
        kind, code = e.get("kind"), e.get("code")
        if kind == "fact" and e["key"] == 16 and not is_told:  # allocator details begin here
            entries.clear()
            is_told = True
        if kind == "arena":
            arena[e["number"]] = int(e["stream"], 16)
        if kind == "block_existing" and e["spare"]:
            block[int(e["address"], 16)] = e["bytes"] - ((e["spare"] & 0x7FFFFFFF) - 1)
        if e.get("device") != 0 or kind not in KINDS or e.get("found"):
            continue
        address = int(e["address"], 16) if "address" in e else 0
        stream = arena.get(code)
        if kind == "block_alloc":
            requested = e["bytes"] - (e["spare"] - 1) if e["spare"] else None
            block[address] = requested
            entries.append(("alloc", address, requested, stream))
        elif kind == "block_free":
            entries.append(("free_requested", address, block.get(address), stream))
            if not e["pending"]:
                entries.append(("free_completed", address, block.get(address), stream))
        elif kind == "block_completed":
            entries.append(("free_completed", address, block.get(address), stream))
        elif kind == "snapshot":
            entries.append(("snapshot", 0, e["active_bytes"], 0))
        elif kind == "oom":
            entries.append(("oom", e["device_free"] if e["has_free"] else None, e["bytes"], stream))
        else:
            entries.append((kind, address, e["bytes"], stream))
    return entries


def main():
    parser = argparse.ArgumentParser()
    for name in ("--name", "--gpuprof", "--recording", "--history"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    judge = Judge(args.name)
    with open(args.history) as f:
        theirs = [tuple(entry) for entry in json.load(f)]
    ours = entries_of(args.gpuprof, args.recording)
    # the recorder attached its tracker at a launch before PyTorch's history began: skip earlier entries
    before = next((k for k, entry in enumerate(ours[:4]) if entry == theirs[0]), 0) if theirs else 0
    ours = ours[before:]
    wrong = [k for k in range(len(theirs)) if k >= len(ours) or ours[k] != theirs[k]]
    judge_health(judge, ask(args.name, args.gpuprof, "info", args.recording))
    kinds = {entry[0] for entry in theirs}
    judge.claim("PyTorch recorded frees, completed ones and an out-of-memory",
                {"alloc", "free_requested", "free_completed", "oom"} <= kinds, ", ".join(sorted(kinds)))
    judge.claim("entries of PyTorch's history that are not in the recording, in its order", theirs and not wrong,
                f"{len(wrong)} of {len(theirs)}, {before} recorded before it began")
    for k in wrong[:5]:
        print(f"     entry {k}: PyTorch {theirs[k]}, recorded {ours[k] if k < len(ours) else 'nothing'}")
    sys.exit(judge.failures > 0)


if __name__ == "__main__":
    main()
