"""Reads the files of `gpuprof export --format pprof`, folded and speedscope with readers of its own, and
compares them with the other commands:

    check_stacks.py GPUPROF MADE_GPU_TIME DATA FOLDER

DATA has recordings. For each recording it prints `pass NAME` or `fail NAME: the first reason`. Totals, counts and
stacks of a pprof file must be those of `peak --json`, `top --json` and `kernels --json` of the same span. The other
two formats must have the same sums and stacks as the pprof file. The decoder follows google/pprof's proto/profile.proto
and shares no code with gpuprof."""

import collections
import concurrent.futures
import gzip
import json
import os
import re
import subprocess
import sys

GPUPROF, MADE, DATA, FOLDER = sys.argv[1:5]
MEMORY = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
UNITS = {"objects": "count", "space": "bytes", "time": "nanoseconds", "kernels": "count"}
UNUSED = "(unused in PyTorch's segments)"


class Wrong(Exception):
    pass


def expect(found, expected, *what):
    if found != expected:
        raise Wrong(" ".join(map(str, what)) + f": {str(found)[:150]}, expected {str(expected)[:150]}")


def run(*arguments, allowed=(0,)):
    done = subprocess.run([GPUPROF, *arguments], capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode not in allowed:
        raise Wrong(f"{arguments} ends with {done.returncode}: {done.stderr.decode()[:200]}")
    return done.stdout


def report(*arguments, allowed=(0,)):
    return json.loads(run(*arguments, "--json", allowed=allowed))


# ---- the wire format ----


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise Wrong(f"a number is too long at {at}")


def message(data):
    """Field number -> its values: numbers, or bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        elif key & 7 != 0:
            raise Wrong(f"wire type {key & 7}")
        fields[key >> 3].append(value)
    expect(at, len(data), "the end of a message")
    return fields


def packed(values):
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            numbers.append(number)
    return numbers


def one(fields, number, default=0):
    values = fields.get(number, [default])
    expect(len(values), 1, "values of field", number)
    return values[0]


Frame = collections.namedtuple("Frame", "name symbol file line module address")
Sample = collections.namedtuple("Sample", "frames values labels")


def read_pprof(data):
    """The samples, with frames innermost first and values by name; and the comments."""
    p = message(gzip.decompress(data))
    text = [t.decode() for t in p[6]]  # fails unless it is UTF-8
    expect(text[0], "", "string_table[0]")
    expect(len(set(text)), len(text), "different texts")
    for t in text:
        expect(t.isprintable(), True, "printable", ascii(t))

    def value_type(data):
        fields = message(data)
        return text[one(fields, 1)], text[one(fields, 2)]

    types = [value_type(t) for t in p[1]]
    names = [name for name, _ in types]
    expect(names in (MEMORY, MEMORY + ["gpu_time", "gpu_kernels"]), True, "sample types", names)
    for name, unit in types:
        expect(unit, UNITS[name.split("_")[1]], "unit of", name)
    expect(value_type(one(p, 11)), ("space", "bytes"), "period type")
    expect((one(p, 12), text[one(p, 14)]), (1, "inuse_space"), "period and default type")
    expect(one(p, 9) > 10**9 and 10 in p, True, "time and duration")

    def by_id(field):
        found = {}
        for fields in map(message, p[field]):
            number = one(fields, 1)
            expect(number > 0 and number not in found, True, "a new id", number, "of field", field)
            found[number] = fields
        return found

    mappings, locations, functions = by_id(3), by_id(4), by_id(5)
    for fields in mappings.values():
        expect(one(fields, 7), 1, "has_functions")

    def frames_of(location):
        fields = locations[location]
        mapping, address = mappings[one(fields, 2)], one(fields, 3)
        is_native = one(fields, 2) != 1
        if is_native:
            expect(one(mapping, 2) <= address < one(mapping, 3), True, "an address in its mapping")
        for line in map(message, fields[4]):
            f = functions[one(line, 1)]
            yield Frame(
                text[one(f, 2)],
                text[one(f, 3)],
                text[one(f, 4)] or None,
                one(line, 2) or None,
                text[one(mapping, 5)] if is_native else None,
                address,
            )

    frames = {number: list(frames_of(number)) for number in locations}
    samples, seen = [], set()
    for fields in map(message, p[2]):
        values = packed(fields[2])
        expect(len(values), len(names), "values of a sample")
        labels = [(text[one(l, 1)], text[one(l, 2)]) for l in map(message, fields[3])]
        expect(len(dict(labels)), len(labels), "one value a label")
        stack = packed(fields[1])
        expect(bool(stack) and any(values), True, "a stack and a value")
        seen.update(stack)
        samples.append(Sample(tuple(f for l in stack for f in frames[l]), dict(zip(names, values)), dict(labels)))
    expect(seen, set(locations), "used locations")
    keys = [(s.frames, tuple(sorted(s.labels.items()))) for s in samples]
    expect(len(set(keys)), len(keys), "different samples")
    return samples, [text[t] for t in packed(p[13])], names


# ---- against other commands ----


def total(samples, value, **labels):
    return sum(s.values[value] for s in samples if labels.items() <= s.labels.items())


def device_label(device):
    return "host" if device is None else str(device)


def frame_of_json(frame):
    """A frame as both have it; the name of one without a function is its place."""
    function = frame["function"]
    if function is None:
        function = "unknown" if frame.get("address") is None else None
    address = int(frame["address"], 16) if "address" in frame else 0
    return function, frame["file"], frame["line"], frame["module"], address


def check_stacks(samples, values, curve):
    """Each group of one stack has the same sums in the file; of several, its stack is there."""
    device = device_label(curve["device"])
    by_stack = collections.defaultdict(lambda: [0, 0])
    for s in samples:
        if s.labels.get("device") != device or s.labels.get("memory") != curve["of"]:
            continue
        frames = tuple(
            (None if re.search(r"\+0x[0-9a-f]+$|^0x", f.name) else f.name, *f[2:])
            for f in s.frames
            if not re.fullmatch(r"\([^()]*\)", f.name)  # a reason
        )
        for k, value in enumerate(values):
            by_stack[frames][k] += s.values[value]
    checked = 0
    for group in curve["groups"]:
        # a group of the driver may have segments beside other memory
        if not group["stack"] or curve["of"] == "driver":
            continue
        found = by_stack.get(tuple(map(frame_of_json, group["stack"])))
        expect(found is not None, True, "the stack of", group["key"])
        if group["stacks"] == 1:
            expect(found, [group["count"], group["bytes"]], "count and bytes of", group["key"])
            checked += 1
        else:
            expect(0 < found[1] <= group["bytes"], True, "bytes of", group["key"])
    return checked


def check_held(samples, peak):
    """Without segments, which the curve `reserved` has, of which the driver maps a part."""
    checked, segments, allocated = 0, {}, {}
    # memory that no event accounts for may be of segments or not
    uncertain = {c["device"] for c in peak["curves"] if c["uncertain_bytes"]}
    for curve in peak["curves"]:
        label = {"device": device_label(curve["device"])}
        expected = curve["live_bytes"], sum(g["count"] for g in curve["groups"])
        if curve["of"] == "reserved":
            mapped = curve["live_bytes"] - curve["unmapped_bytes"]
            segments[curve["device"]] = mapped, sum(g["count"] for g in curve["groups"])
            continue
        if curve["of"] == "allocated":
            allocated[curve["device"]] = curve["live_bytes"]
        if curve["of"] == "driver":
            mapped, count = segments.get(curve["device"], (0, 0))
            if mapped >= allocated.get(curve["device"], 0):
                expect(total(samples, "inuse_space", **label), expected[0], "bytes in use of GPU", label)
            expected = expected[0] - mapped, expected[1] - count
        found = tuple(total(samples, v, memory=curve["of"], **label) for v in ("inuse_space", "inuse_objects"))
        if curve["device"] not in uncertain:
            expect(found, expected, "bytes and objects in use of", curve["of"])
        checked += check_stacks(samples, ["inuse_objects", "inuse_space"], curve)
    return checked


def check_allocated(samples, top):
    """By role, so that segments can be subtracted."""
    for curve in top["curves"]:
        label = {"device": device_label(curve["device"]), "memory": curve["of"]}
        roles = collections.Counter()
        for group in curve["groups"]:
            for rule in group["rules"]:
                if curve["of"] != "driver" or rule["rule"] not in ("segment", "graph_segment"):
                    roles[group["key"]] += rule["bytes"]
                    roles[None] += rule["count"]
        expect(total(samples, "alloc_objects", **label), roles.pop(None, 0), "objects allocated")
        found = collections.Counter()
        for s in samples:
            if label.items() <= s.labels.items():
                found[s.labels["role"]] += s.values["alloc_space"]
        expect(+found, +roles, "bytes allocated by role")


def check_gpu(samples, names, recording):
    kernels = report("kernels", recording)
    expect("gpu_time" in names, kernels["has_gpu_time"], "GPU time")
    if not kernels["has_gpu_time"]:
        return
    moved = kernels["copies"]["total_ns"] + kernels["sets"]["total_ns"]
    expect(total(samples, "gpu_time"), kernels["total_ns"] + moved, "time of the GPU")
    expect(total(samples, "gpu_kernels"), kernels["total_count"], "kernels")
    found = collections.Counter()
    for s in samples:
        if s.values["gpu_kernels"]:
            found[s.frames[0].name] += s.values["gpu_time"]
    expect(found, {r["name"]: r["total_ns"] for r in kernels["kernels"]}, "time by kernel")


# ---- the other two formats ----


def sums_of(samples, value):
    """By device and stack, outermost first."""
    sums = collections.Counter()
    for s in samples:
        frames = tuple((f.name, f.file, f.line, f.module) for f in reversed(s.frames))
        sums[(s.labels["device"], frames)] += s.values[value]
    return +sums


def check_folded(samples, names, recording):
    for value in MEMORY + ["gpu_time"] * ("gpu_time" in names):
        lines = run("export", "--format", "folded", "--select", value, recording).decode()
        found = collections.Counter()
        for line in lines.splitlines():
            expect(line.isprintable(), True, "printable", ascii(line))
            stack, number = line.rsplit(" ", 1)
            expect(stack not in found, True, "a new stack")
            found[stack] = int(number)
        expected = collections.Counter()
        for (device, frames), number in sums_of(samples, value).items():
            parts = ["Host" if device == "host" else "GPU " + device]
            for name, file, line, _ in frames:
                place = f" ({file.rsplit('/', 1)[-1]}{':' + str(line) if line else ''})" if file else ""
                parts.append((name + place).replace(";", ","))
            expected[";".join(parts)] += number
        expect(found, expected, "lines of", value)


def check_speedscope(samples, names, recording):
    file = json.loads(run("export", "--format", "speedscope", recording))
    expect(file["$schema"], "https://www.speedscope.app/file-format-schema.json", "schema")
    expect(set(file), {"$schema", "exporter", "name", "activeProfileIndex", "shared", "profiles"}, "keys")
    frames = file["shared"]["frames"]
    for frame in frames:
        expect({"name"} <= set(frame) <= {"name", "file", "line"} and type(frame["name"]), str, "a frame")
    found = collections.defaultdict(collections.Counter)
    for p in file["profiles"]:
        expect(set(p), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, "keys")
        value, device = re.match(r"(\w+), (?:GPU )?(\d+|Host) (?:at|from) ", p["name"]).groups()
        expect(p["type"], "sampled", "type")
        expect(p["unit"], UNITS[value.split("_")[1]].replace("count", "none"), "unit")
        expect((p["startValue"], p["endValue"]), (0, sum(p["weights"])), "values")
        expect(len(p["samples"]), len(p["weights"]), "weights")
        for stack, weight in zip(p["samples"], p["weights"]):
            places = [frames[k] for k in stack]
            key = tuple((f["name"], f.get("file"), f.get("line")) for f in places)
            found[value][(device.lower(), key)] += weight
    for value in names:
        expected = collections.Counter()
        for (device, stack), number in sums_of(samples, value).items():
            expected[(device, tuple((f[0], f[1] or f[3], f[2]) for f in stack))] += number
        expect(found[value], expected, "samples of", value)


# ---- the recordings ----


def pprof(recording, *span, allowed=(0,)):
    return read_pprof(run("export", "--format", "pprof", *span, recording, allowed=allowed))


def check_whole(recording, has_all):
    samples, comments, names = pprof(recording)
    expect(comments[0], "gpuprof: " + recording, "first comment")
    stacks = check_held(samples, report("peak", "--at", "end", recording))
    check_allocated(samples, report("top", "--by", "role", recording))
    check_gpu(samples, names, recording)
    if has_all:
        top = report("top", recording)
        for curve in top["curves"]:
            stacks += check_stacks(samples, MEMORY[:2], curve)
        check_folded(samples, names, recording)
        check_speedscope(samples, names, recording)
    return stacks


def check_spans(recording):
    """At the peak of a curve, and of a part."""
    peak = report("peak", "--at", "peak", recording)
    curve = next(c for c in peak["curves"] if c["of"] == "allocated")
    samples, _, _ = pprof(recording, "--to", "peak")
    held = total(samples, "inuse_space", device=str(curve["device"]), memory="allocated")
    expect((held, held), (curve["live_bytes"], curve["peak_bytes"]), "bytes at the peak")
    first, last = curve["at_ns"] // 2, curve["at_ns"]
    span = ["--from", f"{first}ns", "--to", f"{last}ns"]
    samples, _, _ = pprof(recording, *span)
    check_held(samples, report("peak", "--at", f"{last}ns", recording))
    check_allocated(samples, report("top", "--by", "role", *span, recording))
    samples, _, _ = pprof(recording, "--no-stacks")
    expect({f.name for s in samples for f in s.frames} <= {"(without stacks)", UNUSED}, True, "no frames")


def check_damaged(recording, name):
    """A torn and a flipped one: readable, and marked."""
    with open(recording, "rb") as file:
        data = file.read()
    at = len(data) * 6 // 10
    for kind, bytes in ("torn", data[:at]), ("flipped", data[:at] + b"damaged" + data[at + 7 :]):
        path = os.path.join(FOLDER, f"{name}-{kind}.gpr")
        with open(path, "wb") as file:
            file.write(bytes)
        samples, comments, _ = pprof(path, allowed=(0, 3))
        expect(any(c.startswith("incomplete: ") for c in comments), True, "a comment on", kind)
        check_held(samples, report("peak", "--at", "end", path, allowed=(0, 3)))
        profiles = json.loads(run("export", "--format", "speedscope", path, allowed=(0, 3)))["profiles"]
        expect(all("(incomplete: " in p["name"] for p in profiles), True, "names of profiles")


def check_hostile(recording):
    samples, _, names = pprof(recording)
    check_gpu(samples, names, recording)
    found = {(f.name, f.file) for s in samples for f in s.frames if f.file}
    expect(found, {('st;ep\\x0a<b>"\\', "/srv/a;b\\x0a\\x1b[31m/tr\\xffain.py")}, "names")
    check_folded(samples, names, recording)
    shared = json.loads(run("export", "--format", "speedscope", recording))["shared"]["frames"]
    found = {(f["name"], f["file"]) for f in shared if "file" in f}
    expect(found, {('st;ep\n<b>"\\', "/srv/a;b\n\x1b[31m/tr\ufffdain.py")}, "names of speedscope")


def made(kind):
    path = os.path.join(FOLDER, f"made_{kind}.gpr")
    subprocess.run([MADE, path, kind], check=True, cwd=FOLDER)
    return path


ALL_OF = ("h200_gpt_stacks", "h200_ddp", "h200_cupy", "leak_pinned", "fake-held", "h200_gpt_graph")


def tests():
    for file in sorted(os.listdir(DATA)):
        name, extension = os.path.splitext(file)
        path = os.path.join(DATA, file)
        if extension == ".gpr":
            yield name, check_whole, path, name in ALL_OF
    for name in ("h200_gpt_stacks", "h200_gpt_expandable", "h200_ddp"):
        yield "span-" + name, check_spans, os.path.join(DATA, name + ".gpr")
    for name in ("h200_ddp", "fake-training"):
        yield "damaged-" + name, check_damaged, os.path.join(DATA, name + ".gpr"), name
    for kind in ("allocates", "lost"):
        yield "made-" + kind, check_whole, made(kind), True
    yield "hostile", check_hostile, made("hostile")


def judge(name, function, *arguments):
    try:
        function(*arguments)
        return f"pass {name}"
    except Exception as why:
        return f"fail {name}: {type(why).__name__}: {why}".replace("\n", " ")


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for line in pool.map(lambda test: judge(*test), list(tests())):
        print(line)
