"""
Compares traces of `gpuprof export` with the recording's events, curves, ranges and GPU time.

check_trace.py NAME: NAME.json and NAME.pftrace are the traces, with pieces NAME-2.json and so on.
NAME.info, .events, .timeline, .phases and .kernels are what the commands print, as JSON.
check_trace.py --ranks TOGETHER ONE...: one trace of several recordings has the events of each.
check_trace.py --annotations NAME: NAME.json has each range on each stream, from the first to the
last operation that was launched in it, as NAME.{kernels,ranges}.csv and NAME.projected show.
"""

import bisect
import csv
import json
import os
import sys
from collections import Counter, defaultdict

import perfetto_read

CURVES = ["driver", "reserved", "allocated"]
HOST = ["pinned", "registered"]
ALLOCATIONS = {"block_alloc", "block_free"}
DRIVER = {"alloc", "free", "map", "unmap", "free_failed", "unmap_failed", "owner_gone"}
OPERATIONS = {"kernel", "gpu_memcpy", "gpu_memset"}
CLOCKS_DRIFT = 1e-5  # a projection lasts on CUPTI's clock, an annotation on the job's
COPY_NS = 512  # the duration of copies and sets of made_gpu_time, which count at their end
CALLS = {"launch", "graph_launch", "copy", "wait"}


class Trace:
    """Events of either format, with moments since the start of the recording."""

    def __init__(self):
        self.curves = defaultdict(list)  # name of the track: (at, bytes) in file order
        self.blocks = []  # (kind, at, bytes, address)
        self.driver = []  # (at, address)
        self.calls = []  # (at of the begin, name of the kernel or None)
        self.ranges = []  # (name, begin, end)
        self.operations = defaultdict(lambda: [0, 0])  # category: count, time
        self.stacks = []  # (at, frames) of blocks
        self.labels = []  # of the JSON trace: labels of the frames of blocks, innermost first


def add_value(curve, at, value):
    """A further piece begins with the values in force."""
    if not curve or curve[-1][1] != value:
        curve.append((at, value))


def read_perfetto(paths, start):
    trace, open_slices, weighted = Trace(), defaultdict(list), {}
    for path in paths:
        tracks, events = perfetto_read.read(path)
        assert all("name" in t or "process" in t or "thread" in t for t in tracks.values())
        for e in events:
            add_perfetto(trace, e, e["at"] - start, open_slices)
            if e["type"] == 3:
                uuid = e["track"]["uuid"]
                assert weighted.setdefault(uuid, "weight" in e) == ("weight" in e), e
    assert not any(open_slices.values()), "slices without an end"
    return trace


def add_perfetto(trace, e, at, open_slices):
    track, category = e["track"], e.get("category")
    if e["type"] == 4:
        counter = track["counter"]
        assert counter["unit"] == 3 and counter["share_key"], track
        add_value(trace.curves[track["name"]], at, e["value"])
    elif e["type"] == 2:
        begin, begin_at = open_slices[track["uuid"]].pop()
        assert begin_at <= at, (begin, at)
        if begin["category"] == "range":
            trace.ranges.append((begin["name"], begin_at, at))
        elif begin["category"] in OPERATIONS:
            one = trace.operations[begin["category"]]
            one[0] += 1
            one[1] += at - begin_at
    elif e["type"] == 1 and "note continued" in e:
        assert any(e["name"] == begin["name"] for begin, _ in open_slices[track["uuid"]]), e
    elif e["type"] == 1:
        open_slices[track["uuid"]].append((e, at))
    if e["type"] in (1, 3) and category in ("launch", "copy", "wait"):
        trace.calls.append((at, e["name"] if category == "launch" else None))
    if category != "memory":
        return
    assert e["type"] == 3 and e["weight"] == e["note bytes"], e
    if e["name"] in ALLOCATIONS:
        trace.blocks.append((e["name"], at, e["weight"], e["note address"]))
        trace.stacks.append((at, e.get("stack")))
    else:
        trace.driver.append((at, e["note address"]))


def read_chrome(paths, start):
    trace = Trace()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file, parse_float=str)
        base = document["baseTimeNanoseconds"] - start
        for e in document["traceEvents"]:
            if e["ph"] != "M":
                add_chrome(trace, e, base + nanoseconds(e["ts"]), document.get("stackFrames", {}))
        check_rows(document["traceEvents"])
    return trace


def check_rows(events):
    """Spans of a row of the GPU lie in each other or apart, as viewers need it."""
    rows = defaultdict(list)
    for e in events:
        if e.get("cat") in OPERATIONS or e.get("cat") == "gpu_user_annotation":
            begin = nanoseconds(e["ts"])
            rows[e["pid"], e["tid"]].append((begin, begin + nanoseconds(e["dur"])))
    for place, spans in rows.items():
        assert spans == sorted(spans, key=lambda span: span[0]), place
        open_ends = []
        for begin, end in spans:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or open_ends[-1] >= end, (place, begin, end, open_ends)
            open_ends.append(end)


def labels_of(e, frames):
    labels, frame = [], str(e.get("sf", ""))
    while frame:
        labels.append(frames[frame]["name"])
        frame = frames[frame].get("parent")
    return labels


def nanoseconds(text):
    whole, decimals = text.split(".")
    assert len(decimals) == 3, text
    return int(whole + decimals)


def add_chrome(trace, e, at, frames):
    duration, args = nanoseconds(e.get("dur", "0.000")), e.get("args", {})
    category = e.get("cat")
    if e["ph"] == "C":
        add_value(trace.curves[e["name"]], at, args["bytes"])
    elif e["name"] == "[memory]" and "Device Id" in args:
        kind = "block_free" if args["Bytes"] < 0 else "block_alloc"
        trace.blocks.append((kind, at, abs(args["Bytes"]), int(args["Addr"])))
        trace.labels.append(labels_of(e, frames))
    elif e["name"] in ("[driver memory]", "[pinned memory]"):
        trace.driver.append((at, int(args["Addr"])))
    elif category == "cuda_runtime":
        trace.calls.append((at, args.get("kernel")))
    elif category == "user_annotation" and "source" in args:
        trace.ranges.append((e["name"], at, at + duration))
    elif category in OPERATIONS:
        one = trace.operations[category]
        one[0] += 1
        one[1] += duration
        assert args["correlation"] and args["stream"] == e["tid"] % 0x10000000, e


class Facts:
    def __init__(self, name):
        def load(what):
            with open(f"{name}.{what}", encoding="utf-8") as file:
                text = file.read()
            return json.loads(text) if text else None

        self.info, self.timeline = load("info"), load("timeline")
        self.phases, self.kernels = load("phases"), load("kernels")
        with open(f"{name}.events", encoding="utf-8") as file:
            self.events = json.loads("[" + file.read().replace("}\n{", "},\n{") + "]")


def check_blocks(trace, facts):
    told = [e for e in facts.events if e["kind"] in ALLOCATIONS]
    expected = [(e["kind"], e["at_ns"], e["bytes"], int(e["address"], 16)) for e in told]
    if not expected and facts.info["self_check"]["framework_events"] == 0:
        return
    assert trace.blocks == expected, "blocks differ"
    for labels, e in zip(trace.labels, told):
        frames = e.get("stack") or []
        assert len(labels) == len(frames), (e["order"], labels)
        for label, f in zip(labels, frames):
            if "address" not in f:  # of Python
                place = f":{f['line']})" if f["line"] else ""
                whole = f["function"] in label or "..." in label  # long names are shortened
                assert whole and label.endswith(place), (e["order"], label, f)
    if not trace.stacks:
        return
    for (_, frames), e in zip(trace.stacks, told):
        names = [(f["function"], f["line"]) for f in e.get("stack") or []]
        found = [(name if f[0] else None, line) for (name, _, line), f in zip(frames or [], names)]
        assert found == names and len(frames or []) == len(names), (e["order"], frames, names)


def check_driver(trace, facts):
    devices = {d["device"] for d in facts.info["devices"]}
    told = [
        (e["at_ns"], int(e["address"], 16))
        for e in facts.events
        if e["kind"] in DRIVER and "address" in e
        and (e["device"] in devices or "host" in str(e["space"]))
    ]
    found = trace.driver
    if not facts.info["self_check"]["framework_events"]:
        found = found + [(at, address) for _, at, _, address in trace.blocks]
    missing = Counter(told) - Counter(found)
    assert not missing, ("driver calls are missing", list(missing)[:3])


def value_at(curve, at):
    """The values in force at a moment: one, or all that the curve has then."""
    last = bisect.bisect_right(curve, at, key=lambda point: point[0])
    first = bisect.bisect_left(curve, at, key=lambda point: point[0])
    return {value for _, value in curve[max(first - 1, 0) : last]} | ({0} if first == 0 else set())


def check_curve(curve, name, points, peak, peak_at):
    assert curve == sorted(curve, key=lambda point: point[0]), (name, "not in order")
    for before, after in zip(curve, curve[1:]):
        assert before[1] != after[1], (name, "no change", after)
    for at, value in points:
        assert value in value_at(curve, at), (name, at, value, value_at(curve, at))
    if peak and peak_at is not None:
        highest = max(value for _, value in curve)
        assert highest == peak, (name, highest, peak)
        assert any(value == peak and at == peak_at for at, value in curve), (name, peak_at)


def check_curves(trace, facts):
    whole = not facts.timeline["kept_from_ns"]
    for device in facts.timeline["devices"]:
        for place, key in enumerate(CURVES):
            name = f"GPU {device['device']} {key}"
            points = [(p[0], p[1 + place]) for p in device["points"]]
            peak, at = device[f"{key}_peak_bytes"], device[f"{key}_peak_at_ns"]
            check_curve(trace.curves[name], name, points, peak if whole else 0, at)
    host = facts.timeline["host"]
    for place, key in enumerate(HOST if host else []):
        points = [(p[0], p[1 + place]) for p in host["points"]]
        whole_peak = host["pinned_peak_bytes"] if place == 0 and whole else 0
        check_curve(
            trace.curves[f"host {key}"], key, points, whole_peak, host["pinned_peak_at_ns"]
        )
    # each change of the framework's blocks, from its own totals
    if facts.info["self_check"]["mismatches"] or facts.info["devices"][1:] or not whole:
        return
    if facts.info["uncertain"] or facts.info["gaps"]:
        return
    totals = [e["allocated"] for e in facts.events if e["kind"] in ALLOCATIONS | {"block_existing"}]
    found = [value for _, value in trace.curves["GPU 0 allocated"]]
    # a span begins with the state
    first = found[:1] if facts.timeline["from_ns"] > 0 else []
    changes = first + [b for a, b in zip((first or [0]) + totals, totals) if a != b]
    if totals:
        assert found == changes, ("allocated", len(found), len(changes))


def check_calls(trace, facts):
    told = Counter(e["kind"] for e in facts.events if e["kind"] in CALLS)
    assert len(trace.calls) == sum(told.values()), (len(trace.calls), told)
    launches = [e for e in facts.events if e["kind"] == "launch"]
    found = [name for _, name in trace.calls if name is not None]
    assert len(found) in (len(launches), len(launches) + told["graph_launch"]), len(found)


def count_ranges(nodes):
    found = Counter()
    for node in nodes:
        if node["style"] in ("nested", "started"):
            found[node["source"]] += node["calls"]
        found += count_ranges(node["children"])
    return found


def check_ranges(trace, facts):
    expected = count_ranges(facts.phases["phases"])
    assert len(trace.ranges) == sum(expected.values()), (len(trace.ranges), expected)


def check_operations(trace, facts):
    kernels = facts.kernels
    if not kernels:
        return
    found = trace.operations["kernel"]
    expected = [kernels["total_count"], kernels["total_ns"]]
    assert found == expected, ("kernels", found, expected)


def check_nesting(rows):
    """On a row, a span lies inside those that are open at its begin, or after them."""
    for row, spans in rows.items():
        open_ends = []
        for begin, minus in sorted(spans):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or begin - minus <= open_ends[-1], (row, begin, minus, open_ends)
            open_ends.append(begin - minus)


def check_annotations(name):
    """Sums of our own: launches by thread and time, without the tool's own call numbers."""
    with open(name + ".info", encoding="utf-8") as file:
        start = json.load(file)["start_unix_ns"]
    with open(name + ".json", encoding="utf-8") as file:
        document = json.load(file, parse_float=str)
    found, by_call, rows = Counter(), {}, defaultdict(list)
    for e in document["traceEvents"]:
        if e.get("cat") in OPERATIONS | {"gpu_user_annotation"}:
            rows[e["pid"], e["tid"]].append((nanoseconds(e["ts"]), -nanoseconds(e["dur"])))
        if e.get("cat") == "gpu_user_annotation":
            begin = document["baseTimeNanoseconds"] - start + nanoseconds(e["ts"])
            end = begin + nanoseconds(e["dur"])
            found[e["name"], e["pid"], e["tid"] % 0x10000000, begin, end] += 1
            call = by_call.setdefault(e["args"]["External id"], [begin, end])
            call[0], call[1] = min(call[0], begin), max(call[1], end)
    with open(name + ".kernels.csv", encoding="utf-8", newline="") as file:
        kernels = [k for k in csv.DictReader(file) if k["launched_ns"]]
    expected = Counter()
    with open(name + ".ranges.csv", encoding="utf-8", newline="") as file:
        for r in csv.DictReader(file):
            streams = {}
            for k in kernels if r["style"] == "pushed" else []:
                launched = int(k["launched_ns"]) + (k["kind"] != "kernel") * COPY_NS
                is_own = k["launch_thread"] == r["thread"]
                if r["source"] == "engine":  # threads of autograd launch its work
                    is_own = r["name"] in k["range"].split(" > ")
                if not is_own:
                    continue
                if int(r["begin_ns"]) <= launched <= int(r["end_ns"]):
                    at = int(k["at_ns"])
                    place = int(k["device"]), int(k["stream"])
                    begin, end = streams.get(place, (at, at))
                    streams[place] = min(begin, at), max(end, at + int(k["took_ns"]))
            title = f"{r['domain']}:{r['name']}" if r["domain"] else r["name"]
            expected.update((title, *place, *span) for place, span in streams.items())
    assert expected and found == expected, (found - expected, expected - found)
    check_nesting(rows)
    if name == "made-crossed":
        assert any(tid >= 0x10000000 for _, tid in rows), "ranges that cross have no row beside the stream's"
    with open(name + ".projected", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Style"] == "PushPop"]
    projected = {
        int(row["RangeId"]): [
            int(row["Projected Start (ns)"]),
            int(row["Projected Start (ns)"]) + int(row["Projected Duration (ns)"]),
        ]
        for row in rows
    }
    assert projected.keys() == by_call.keys(), (projected, by_call)
    for number, (begin, end) in projected.items():
        found = by_call[number]
        drift = 500 + (end - begin) * CLOCKS_DRIFT if "h100" in name else 0
        assert begin == found[0] and abs(found[1] - end) <= drift, (begin, end, found)


def check_ranks(together, alone):
    """Times and sequences differ, texts and values do not."""
    tracks, events = perfetto_read.read(together)
    processes = [t["process"]["name"] for t in tracks.values() if "process" in t]
    assert len(set(processes)) == len(alone), processes
    found = Counter((e["type"], e.get("name"), e.get("value")) for e in events)
    expected = Counter()
    for path in alone:
        expected += Counter(
            (e["type"], e.get("name"), e.get("value")) for e in perfetto_read.read(path)[1]
        )
    assert found == expected, (found - expected, expected - found)
    begins = {}
    for e in events:
        begins.setdefault(e["track"]["uuid"] >> 40, e["at"])
    assert len(set(begins.values())) == len(alone), begins


def pieces(name, end):
    found = [name + end]
    while os.path.exists(f"{name}-{len(found) + 1}{end}"):
        found.append(f"{name}-{len(found) + 1}{end}")
    return found


def main():
    if sys.argv[1] == "--ranks":
        check_ranks(sys.argv[2], sys.argv[3:])
        return
    if sys.argv[1] == "--annotations":
        check_annotations(sys.argv[2])
        return
    name = sys.argv[1]
    facts = Facts(name)
    start = facts.info["start_unix_ns"]
    for read, end in (read_perfetto, ".pftrace"), (read_chrome, ".json"):
        trace = read(pieces(name, end), start)
        for check in (check_blocks, check_driver, check_curves, check_calls, check_ranges):
            check(trace, facts)
        check_operations(trace, facts)


if __name__ == "__main__":
    main()
