"""Functions that read a figure from a command's output: figure_table.py has the figures."""
import json
import random
import re


def numbers(pattern, text):
    return [int(found.replace(",", "")) for found in re.findall(pattern, text, re.M)]


def named_frames(text):
    """The line on names in the output of verify, where there is one."""
    found = numbers(r"names of ([\d,]+) of [\d,]+ native frames", text)
    return {"named": found[0], "frames": numbers(r"names of [\d,]+ of ([\d,]+) native", text)[0]} if found else {}


# ---- peaks ----

def curves_of_timeline(part):
    def read(t):
        out = {(d["device"], of): d[f"{of}_peak_{part}"] for d in t["devices"]
               for of in ("driver", "reserved", "allocated") if d[f"{of}_peak_bytes"]}
        if t["host"]:
            out[None, "pinned"] = t["host"][f"pinned_peak_{part}"]
        return out
    return read


def curves(key, where="curves"):
    """The values of one key in a list of curves."""
    return lambda d: {(c["device"], c["of"]): c[key] for c in d[where] if c.get(key) is not None}


def groups_of(key, where="curves"):
    return lambda d: {(c["device"], c["of"]): sum(g[key] for g in c["groups"]) for c in d[where]}


CHECKED = {"max_peak": "driver", "max_reserved": "reserved", "max_allocated": "allocated"}


def checked(key):
    return lambda d: {(c["device"], CHECKED[c["check"]]): c[key] for c in d["checks"]
                      if c["check"] in CHECKED and c["value"]}


def holders_of_check(value):
    return lambda d: {(c["device"], h["of"]): value(h) for c in d["culprits"] for h in c["holders"]}


def figures_of_diff(d):
    return {(device["device"], of): device[of + "_bytes"][0] for device in d["devices"]
            for of in ("allocated", "reserved", "driver", "pinned") if device.get(of + "_bytes")}


def curves_of_diff(side):
    return lambda d: {(c["device"], c["of"]): c["live_bytes"][side] for c in d["curves"]}


def highest_of(of, read):
    """The device with the highest value of the curve, because the moment is of that device."""
    def filtered(d):
        found = {key: value for key, value in read(d).items() if key[1] == of}
        highest = max(found.values(), default=None)
        return {key: value for key, value in found.items() if value == highest}
    return filtered


def frag_at_peak(of):
    """The device with the highest peak, because the moment is of that device."""
    def read(d):
        device = max(d["devices"], key=lambda device: device[of + "_bytes"], default=None)
        return {(device["device"], of): device[of + "_bytes"]} if device and device[of + "_bytes"] else {}
    return read


def holders_by_key(where):
    """Bytes and number of the live blocks with each key."""
    return lambda d: {(c["device"], g["key"]): (g["bytes"], g["count"]) for c in d[where] if c["of"] == "allocated"
                      for g in c["groups"] if g["bytes"]}


def first_holders(key):
    """The three holders with most bytes at the highest peak of the innermost curve."""
    def read(d):
        of = [c for c in d["curves"] if c["of"] in ("driver", "allocated")]
        inner = [c for c in of if c["of"] == "allocated"] or of
        highest = max(inner, key=lambda c: c[key], default=None)
        if not highest or not d["has_stacks"]:
            return {}
        return {None: [(highest["device"], highest["of"], g["key"], g["bytes"]) for g in highest["groups"][:3]]}
    return read


# ---- unused memory ----

CAUSES = ("pending", "private_pool", "other_stream", "small_pool", "leftover", "driver_granularity", "fully_free", "inactive_split")


def unused_of_frag(d):
    return {v["device"]: v["unused_bytes"] for v in d["devices"] if len(d["devices"]) == 1 and v["reserved_bytes"]}


def most_unused(d):
    return {v["device"]: v["most_unused"]["bytes"] for v in d["devices"] if len(d["devices"]) == 1 and v["most_unused"]}


def most_unused_of_ooms(d):
    """For each device the number of the first OOM with most unused memory."""
    most = {}
    for o in d["ooms"]:
        unused = o["reserved_bytes"] - o["allocated_bytes"]
        if unused > most.get(o["device"], (0, 0))[0]:
            most[o["device"]] = unused, o["number"]
    return {device: number for device, (_, number) in most.items()}


def unused_of_causes(d):
    return {v["device"]: sum(v["causes"].values()) for v in d["devices"]
            if len(d["devices"]) == 1 and v["reserved_bytes"]}


def unused_of_culprits(d):
    return {c["device"]: sum(c["causes"].values()) for c in d["culprits"] if c["causes"]}


def unused_of_timeline(t):
    """The last point, which is that of the moment."""
    return {v["device"]: v["points"][-1][2] - v["points"][-1][3] for v in t["devices"]
            if len(t["devices"]) == 1 and v["points"] and v["points"][-1][2]}


def excess_of_timeline(t):
    return {v["device"]: max(v["reserved_peak_bytes"] - v["allocated_peak_bytes"], 0) for v in t["devices"]
            if v["reserved_peak_bytes"]}


def gaps_of_timeline(t):
    return {(v["device"], key): round(v["points"][-1][k], 5) for v in t["devices"]
            if v["points"] and len(v["points"][-1]) == 6 for k, key in ((4, "largest gap"), (5, "fragmentation"))}


def gaps_of_frag(d):
    return {(v["device"], key): round(v[name], 5) for v in d["devices"] for key, name in (
        ("largest gap", "largest_gap_bytes"), ("fragmentation", "fragmentation"))}


def gaps_of_pools(d):
    out = {}
    for v in d["devices"]:
        gap = max((pool["largest_gap_bytes"] for pool in v["pools"]), default=0)
        free = sum(pool["free_bytes"] for pool in v["pools"])
        out[v["device"], "largest gap"] = gap
        out[v["device"], "fragmentation"] = round(1 - gap / free, 5) if free else 0
    return out


def pins(found):
    return {pin["address"]: (pin["segment"], pin["bytes"], pin["hostage_bytes"], pin["age_ns"]) for pin in found}


def names_of_groups(d):
    """Figures of stacks by key; two stacks may have the same key and different figures."""
    out = {}
    for curve in d["curves"]:
        for group in curve["groups"]:
            key = curve["device"], curve["of"], group["key"]
            names = tuple(group.get(name) for name in ("operator", "outer_operator", "node", "library", "kind"))
            out[key] = names if out.get(key, names) == names else None
    return out


# ---- counts ----

def head(d):
    return {key: d[key] for key in ("complete", "damaged", "kept_from_ns", "gaps", "uncertain")}


def total(key):
    return lambda d: {None: sum(device[key] for device in d["devices"])}


def ooms_of_check(text):
    found = {int(device): int(count) for device, count in re.findall(r"GPU (\d+): (\d+) OOM", text)}
    return {None: sum(found.values())} if found else {}


# ---- steps and growth ----

def rates_of_leaks(d):
    """Only devices with one suspect: a sum of rounded rates is not the rounded sum."""
    of = [leak["device"] for leak in d["suspects"]]
    return {leak["device"]: leak["bytes_per_step"] for leak in d["suspects"] if of.count(leak["device"]) == 1}


def suspects(*lists):
    """By kind, device and reported figure."""
    return lambda d: {(s["kind"], s["device"], s["since_ns"], s["live_bytes"], s["kept_count"]): (s["bytes_per_step"], s["p_value"])
                      for name in lists for s in d[name]}


def verdict_of_check(d):
    states = {c["state"] for c in d["checks"] if c["check"].startswith("max_growth")}
    return {None: "leak"} if "exceeded" in states else {None: "none"} if states == {"kept"} else {}


# ---- moments ----

def at_peak(curve_key, *named):
    """The moment `peak`: the highest peak of the innermost curve, on a device that has this curve."""
    def read(d):
        for of in named or ("allocated", "driver"):
            highest = max((c for c in d[curve_key] if c["of"] == of and c["peak_bytes"]),
                          key=lambda c: c["peak_bytes"], default=None)
            if highest:
                return {None: highest["peak_at_ns"]}
        return {}
    return read


def at(*path):
    def read(d):
        for key in path:
            d = d[key]
        return {None: d}
    return read


def between(times):
    """[(length, middle)] of the gaps between events; a moment in a gap is not that of an event."""
    times = sorted(set(times))
    return [(after - before, before + (after - before) // 2) for before, after in zip(times, times[1:])
            if after - before > 2]


def longest_gap(times, _):
    return max(between(times), default=(0, None))[1]


def some_moment(times, name):
    """A choice that is the same in each run: the recording's name is the seed."""
    gaps = between(times)
    return random.Random(name).choice(gaps)[1] if gaps else None


def ahead_of_place(times, _):
    """Between an event and a later entry of the recording with an earlier time."""
    for before, after in zip(times, times[1:]):
        if before - after > 2:
            return after + (before - after) // 2
    return None


# words of command lines; from the times of all events, in the recording's order
MOMENTS = {"LONGEST_GAP": longest_gap, "SOME_MOMENT": some_moment, "AHEAD_OF_PLACE": ahead_of_place}


def point_of_timeline(which):
    """The first or the last point, as bytes of each curve."""
    def read(t):
        out = {(v["device"], of): v["points"][which][k] for v in t["devices"] if v["points"]
               for k, of in ((1, "driver"), (2, "reserved"), (3, "allocated"))}
        if t["host"] and t["host"]["points"]:
            out[None, "pinned"] = t["host"]["points"][which][1]
        return out
    return read


def peaks_of_span(t):
    """For a span without an event these are the state itself, also where it is 0."""
    out = {(v["device"], of): v[of + "_peak_bytes"] for v in t["devices"] for of in ("driver", "reserved", "allocated")}
    if t["host"]:
        out[None, "pinned"] = t["host"]["pinned_peak_bytes"]
    return out


def reserved_of_frag(d):
    return {(v["device"], of): v[of + "_bytes"] for v in d["devices"] for of in ("allocated", "reserved")}


def pools_of_frag(d):
    """Reserved and allocated bytes of each private pool, on all devices and streams."""
    out = {}
    for pool in (pool for device in d["devices"] for pool in device["pools"] if any(pool["pool"] or ())):
        reserved, allocated = out.get(tuple(pool["pool"]), (0, 0))
        out[tuple(pool["pool"])] = reserved + pool["reserved_bytes"], allocated + pool["allocated_bytes"]
    return out


def blocks_of_dump(events):
    """Bytes of the blocks that PyTorch allocated."""
    out = {}
    for event in events:
        if event["kind"] == "block_alloc":
            key = event["device"], "allocated"
            out[key] = out.get(key, 0) + event["bytes"]
    return out


def launches(d):
    return {key: d[key] for key in ("launches", "captured_launches", "graph_launches")}


def of_thread(d):
    """The outermost phases; started ranges may share events with other ranges."""
    return [phase for phase in d["phases"] if phase["style"] not in ("started", "mark")]


def allocated_of_phases(d):
    return {(0, d["of"]): sum(phase["allocated_bytes"] for phase in of_thread(d))}


def folded(name):
    return name if name is None else re.sub(r"\d+", "#", name)


def held_of_phases(d):
    """All own bytes by path of names, without those of inner ranges."""
    out = {}

    def visit(phases, path):
        for phase in phases:
            if phase["held_bytes"] is None:
                continue
            here = path + (() if phase["style"] == "outside" else (folded(phase["name"]),))
            own = phase["held_bytes"] - sum(child["held_bytes"] or 0 for child in phase["children"])
            out[here] = out.get(here, 0) + own
            visit(phase["children"], here)
    visit(d["phases"], ())
    return {d["of"]: {path: held for path, held in out.items() if held}}


def held_of_ranges(d):
    out = {}
    for curve in d["curves"]:
        of = out.setdefault(curve["of"], {})
        for group in curve["groups"]:
            if group["ranges"] is None and group["key"] not in ("(ambiguous)", "(further ranges)"):
                continue  # bytes without a phase: from before the kept part, or lost
            path = (None,) if group["ranges"] is None else tuple(folded(name) for name in group["ranges"])
            of[path] = of.get(path, 0) + group["bytes"]
    return out


def launches_of_phases(d):
    of = of_thread(d)
    return {key: sum(phase[key] for phase in of) for key in ("launches", "captured_launches", "graph_launches")}


def launches_of_dump(events):
    out = dict.fromkeys(("launches", "captured_launches", "graph_launches"), 0)
    for event in events:
        if event["code"] == 0:
            out["captured_launches" if event.get("captured") else event["kind"].replace("launch", "launches")] += 1
    return out


def launches_of_info(text):
    """Reads the line of the text output."""
    found = numbers(r"^launches +([\d,]+) launch", text)
    line = re.search(r"^launches .*", text, re.M)
    return {"launches": found[0], **{key: (numbers(f"([\\d,]+) {word} launch", line[0]) or [0])[0] for key, word in (
        ("captured_launches", "captured"), ("graph_launches", "graph"))}} if found else {}


def last_event(events):
    return {None: events[-1]["at_ns"]} if events and "at_ns" in events[-1] else {}


# ---- without a recording ----

def defaults_of_help(text):
    """By variable, from `gpuprof help --environment` or its page."""
    return {found[1]: found[2].strip("`") for found in re.finditer(
        r"^## (GPUPROF\w*)$.*?^- default: (.*?)$", text, re.M | re.S)}


def defaults_of_run(text):
    """Those in the help of `run`; an option's text ends with `default`."""
    out = {}
    for option in re.split(r"\n  (?=(?:-\w, |    )--)", text)[1:]:
        flag = re.search(r"--([\w-]+)", option)[1]
        words = re.search(r"; default (\S+)$", " ".join(option.split("\n\n")[0].split()))
        out["GPUPROF_" + flag.replace("-", "_").upper()] = words[1] if words else "unset"
    return out


def rows_of_stats(text):
    """Rows of a report that `stats --format json` prints; none without GPU time."""
    return json.loads(text) if text else []


def phases_by_name(d, *keys):
    """Sums over all ranges of each name, as reports of Nsight Systems call it."""
    out, open_phases = {}, list(d["phases"])
    while open_phases:
        phase = open_phases.pop()
        open_phases += phase["children"]
        if phase["style"] == "nested" and phase["name"] is not None:
            name = f"{phase['domain'] or ''}:{phase['name']}"
            for key in keys:
                out[name, key] = out.get((name, key), 0) + (phase.get(key) or 0)
    return out


def sums_by_name(rows, name, columns):
    """{(name, key): sum of the column} of rows of `stats`."""
    out = {}
    for row in rows:
        if row.get("Style") == "StartEnd":
            continue  # phases do not have their GPU time
        for key, column in columns.items():
            out[row[name], key] = out.get((row[name], key), 0) + (row[column] if column else 1)
    return out


def number_line(device, line):
    """The owners of device 0 and what is left; nothing for another device, or without a count of the driver."""
    return {**line["owners"], "unattributed": line["unattributed_bytes"]} if line and device == 0 else {}
