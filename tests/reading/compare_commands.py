"""Compares the Python module with the commands' --json: compare_commands.py GPUPROF RECORDING...

Peaks with what held them, counts, steps, curves, and at two moments the live set with its stacks.
"""
import collections
import concurrent.futures
import json
import subprocess
import sys

import gpuprof

failures = 0


def command(*words):
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(run.stdout.decode("utf-8", "replace")) if run.returncode != 2 else None


def equal(what, ours, theirs):
    global failures
    if ours != theirs:
        failures += 1
        print("%s: %.300r, expected: %.300r" % (what, ours, theirs))


def compare_info(r, info):
    equal("kept", r.info.kept, info["events"])
    equal("lost", r.info.lost, info["lost"])
    equal("facts", [r.info.command, r.info.pid, r.info.format, r.info.duration_ns, r.info.is_complete, r.info.driver],
          [info["command"], info["pid"], info["format"], info["duration_ns"], info["complete"],
           info["origin"]["driver"]])
    equal("peaks", [(p.device, p.curve, p.peak_bytes, p.peak_at_ns) for p in r.peaks()],
          [(p["device"], p["of"], p["peak_bytes"], p["peak_at_ns"]) for p in info["peaks"]])
    steps = r.steps()
    equal("steps", (steps.source, len(steps.rows), steps.warmup, steps.p50_ns),
          tuple(info["steps"][key] for key in ("source", "count", "warmup", "p50_ns")))


def compare_peaks(r, curves):
    for peak, theirs in zip(r.peaks(), curves):
        equal("live at the peak", (peak.at_ns, peak.live_bytes), (theirs["at_ns"], theirs["live_bytes"]))
        equal("holders at the peak of " + peak.curve,
              [sum(u.bytes for u in peak.holders), sum(u.count for u in peak.holders)],
              [sum(group[key] for group in theirs["groups"]) for key in ("bytes", "count")])
        equal("one peak", r.peak(device=peak.device, curve=peak.curve) is not None, True)


def frames_of(stack):
    return None if stack is None else [
        (f.function, f.file, f.line or None, f.module, f.why) for f in stack.frames]


def compare_live(r, frag, at):
    try:
        live = r.live(at.partition(":")[0], curve=at.partition(":")[2] or None)
    except gpuprof.Error as error:
        equal("no moment " + at, (error.status, frag), (gpuprof.Status.END, None))
        return
    state = {"allocated": gpuprof.ALLOCATED, "pending": gpuprof.PENDING}
    blocks, segments, moments = [], [], {}
    for device in frag["devices"]:
        for s in device["segments"]:
            segments.append((device["device"], int(s["address"], 16), s["bytes"], s["stack"] or 0))
            for b in s["blocks"]:
                if b["state"] != "free":
                    blocks.append((int(b["address"], 16), b["bytes"], b["requested_bytes"], state[b["state"]],
                                   b["at_ns"], b["stack"] or 0))
                    moments.setdefault(b["stack"], b["at_ns"])
    unknown = gpuprof.BYTES_UNKNOWN
    equal("live blocks at " + at, [
        (b.address, b.bytes, None if b.requested_bytes == unknown else b.requested_bytes, b.state, b.at_ns, b.stack)
        for b in live.rows if b.what == gpuprof.BLOCK], blocks)
    equal("live segments at " + at, [(s.device, s.address, s.bytes, s.stack) for s in live.rows
                                     if s.what == gpuprof.SEGMENT], segments)
    for b in live.rows:
        if b.what == gpuprof.BLOCK:
            s = live.rows[b.segment]
            equal("segment of a block", s.what == gpuprof.SEGMENT and s.address <= b.address < s.address + s.bytes, True)
    for stack in frag["stacks"]:
        if stack["id"] in moments:
            equal("stack %d" % stack["id"], frames_of(r.stack(stack["id"], moments[stack["id"]])), [
                (f["function"], f["file"], f["line"], f["module"], f["why"]) for f in stack["stack"]])


def compare(r, info, peak, ends):
    compare_info(r, info)
    compare_peaks(r, peak["curves"])
    for at, frag in ends.items():
        compare_live(r, frag, at)
    rows = r.events()
    counts = collections.Counter(row.kind for row in rows)
    equal("events", {name: counts[kind] for name, kind in gpuprof.KINDS.items() if counts[kind]}, info["events"])
    batched = b"".join(bytes(batch) for batch in r.batches(rows=1000))
    equal("batches", bytes(rows) == batched, True)
    for device in {p.device for p in r.peaks() if p.device is not None}:
        points = r.curves(device)
        for curve in ("allocated", "reserved", "driver"):
            found = r.peak(device, curve)
            if found and not found.is_overwritten:
                equal("the curve's highest point", max(getattr(p, curve) for p in points), found.peak_bytes)


def main():
    program, recordings = sys.argv[1], sys.argv[2:]
    moments = ("peak:allocated", "end")
    words = [["info"], ["peak", "--no-stacks"]] + [["frag", "--at", at] for at in moments]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # the last moment only of each fourth one, to save time
        wanted = [[pool.submit(command, program, *of, "--json", path) for of in words[:4 if k % 4 == 0 else 3]]
                  for k, path in enumerate(recordings)]
        for path, runs in zip(recordings, wanted):
            before = failures
            info, peak, *states = [run.result() for run in runs]
            with gpuprof.open(path) as r:
                compare(r, info, peak, dict(zip(moments, states)))
            if failures != before:
                print("in " + path)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
