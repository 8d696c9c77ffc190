"""Checks a snapshot pickle as a reader of PyTorch's format would read it, and against the events
of `gpuprof dump --json`:

    check_pickle.py PICKLE [EVENTS START_UNIX_NS [EXPECTED]]

or against the output of the program that invented the recording (write_history.c).

Checks every key and type. Opcodes, numbers and batches must be ones that the viewers accept. Blocks must tile their
segments. Each action in the trace must fit the memory at its place, read from both ends; the live memory must agree
at each place. Prints what it counted, and the reason of each error."""

import bisect
import collections
import json
import pickle
import pickletools
import sys

VIEWERS_OPCODES = set(
    "PROTO STOP MARK EMPTY_DICT SETITEMS EMPTY_LIST APPENDS TUPLE2 BININT1 BININT2 BININT LONG1 "
    "BINFLOAT BINUNICODE NEWTRUE NEWFALSE BINPUT LONG_BINPUT BINGET LONG_BINGET".split()
)
BATCH = 1000
POOL_OUTSIDE = 1 << 32
wrong = []


def expect(is_so, *what):
    if not is_so:
        wrong.append(" ".join(str(w) for w in what))
        if len(wrong) > 20:
            finish()
    return is_so


def finish():
    for line in wrong:
        print("wrong:", line)
    sys.exit(1 if wrong else 0)


# ---- bytes ----


def check_opcodes(data):
    """Counts the items between each mark and the opcode that takes it."""
    stack, memos = [0], 0
    for opcode, argument, position in pickletools.genops(data):
        name = opcode.name
        expect(name in VIEWERS_OPCODES, "opcode", name, "at", position)
        if name == "PROTO":
            expect(argument == 2, "protocol", argument)
        elif name == "MARK":
            stack.append(0)
        elif name in ("APPENDS", "SETITEMS"):
            count = stack.pop()
            pairs = count / 2 if name == "SETITEMS" else count
            expect(0 < pairs <= BATCH, "a batch of", pairs, "at", position)
        elif name == "TUPLE2":
            stack[-1] -= 1
        elif name in ("BINPUT", "LONG_BINPUT"):
            expect(argument == memos + 1, "memo", argument, "behind", memos)
            memos = argument
        elif name not in ("STOP",):
            stack[-1] += 1
        if name == "LONG1":
            expect(data[position + 1] == 8, "a LONG1 of", data[position + 1], "bytes")
        if isinstance(argument, int):
            expect(-(1 << 63) <= argument < 1 << 63, "number", argument)
    expect(stack == [1], "stack at the end", stack)


# ---- keys and types ----

TOP = {"segments": list, "device_traces": list, "allocator_settings": dict,
       "external_annotations": list}
SEGMENT = {"device": int, "address": int, "total_size": int, "allocated_size": int,
           "active_size": int, "requested_size": int, "stream": int, "segment_type": str,
           "segment_pool_id": tuple, "is_expandable": bool, "frames": list, "blocks": list}
BLOCK = {"address": int, "size": int, "requested_size": int, "state": str, "frames": list}
EVENT = {"action": str, "size": int, "stream": int, "time_us": int}
EVENT_MORE = {"addr": int, "device_free": int, "frames": list, "pool_id": tuple, "category": str}
FRAME = {"name": str, "filename": str, "line": int}
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
           "segment_map", "segment_unmap", "snapshot", "oom"}
SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": str, "max_split_size": int,
            "garbage_collection_threshold": float, "expandable_segments": bool,
            "pinned_num_register_threads": int, "release_lock_on_cudamalloc": bool,
            "pinned_use_cuda_host_register": bool, "roundup_power2_divisions": dict}


def check_keys(thing, wanted, more, what):
    for key, of in wanted.items():
        expect(key in thing and type(thing[key]) is of, what, "key", key, thing.get(key))
    for key in thing:
        if key in more:
            expect(type(thing[key]) is more[key], what, "key", key, thing[key])
        else:
            expect(key in wanted, what, "unknown key", key)


checked_frames = set()


def check_frames(frames):
    if id(frames) in checked_frames:
        return
    checked_frames.add(id(frames))
    for frame in frames:
        check_keys(frame, FRAME, {}, "frame")


def check_pool(pool):
    expect(len(pool) == 2 and all(type(n) is int and n >= 0 for n in pool), "pool", pool)


def check_schema(snapshot):
    check_keys(snapshot, TOP, {}, "snapshot")
    expect(snapshot["external_annotations"] == [], "annotations")
    if snapshot["allocator_settings"]:
        check_keys(snapshot["allocator_settings"], SETTINGS, {}, "settings")
        settings = snapshot["allocator_settings"]
        text = settings["PYTORCH_CUDA_ALLOC_CONF"]
        expect("=" not in text, "a variable's value", text)
        expect(settings["expandable_segments"] == ("expandable_segments:True" in text), "expandable", text)
        divisions = settings["roundup_power2_divisions"]
        expect(list(divisions) == [str(1 << k) for k in range(16)], "divisions", divisions)
    categories = set()
    for trace in snapshot["device_traces"]:
        for event in trace:
            check_keys(event, EVENT, EVENT_MORE, "event")
            expect(event["action"] in ACTIONS, "action", event["action"])
            expect(("addr" in event) == (event["action"] != "oom"), "addr of", event)
            expect(("device_free" in event) == (event["action"] == "oom"), "free of", event)
            expect(event["size"] >= 0 and event["time_us"] > 0, "event", event)
            check_frames(event.get("frames", []))
            check_pool(event.get("pool_id", (0, 0)))
            categories.add(event.get("category"))
    categories.discard(None)
    expect(not categories or "unknown" in categories, "categories", categories)
    for segment in snapshot["segments"]:
        check_keys(segment, SEGMENT, {}, "segment")
        check_pool(segment["segment_pool_id"])
        check_frames(segment["frames"])
        for block in segment["blocks"]:
            check_keys(block, BLOCK, {}, "block")
            check_frames(block["frames"])


# ---- the state ----


def check_segments(segments):
    end, device = 0, -1
    for segment in segments:
        if segment["device"] != device:
            expect(segment["device"] > device, "order of devices")
            end, device = 0, segment["device"]
        expect(segment["address"] >= end, "order of segments at", segment["address"])
        expect(segment["segment_type"] in ("small", "large"), "type", segment["segment_type"])
        at = segment["address"]
        end = at + segment["total_size"]
        sums = collections.Counter()
        for block in segment["blocks"]:
            expect(block["address"] == at, "a hole at", at, "in", segment["address"])
            expect(block["size"] > 0, "an empty block at", at)
            at += block["size"]
            state = block["state"]
            expect(state in ("active_allocated", "active_pending_free", "inactive"), state)
            if state != "inactive":
                sums["active"] += block["size"]
                sums["requested"] += block["requested_size"]
                expect(0 <= block["requested_size"] <= block["size"], "requested", block)
            if state == "active_allocated":
                sums["allocated"] += block["size"]
        expect(at == end, "blocks end at", at, "segment at", end)
        for key in ("allocated", "active", "requested"):
            expect(segment[key + "_size"] == sums[key], key, "of segment", segment["address"],
                   segment[key + "_size"], "is not", sums[key])


# ---- the trace, backwards, as viewers read it ----


class State:
    """Ranges and blocks of one device, changed by one event at a time."""

    def __init__(self):
        self.starts, self.ends, self.streams, self.blocks = [], {}, {}, {}

    def add(self, start, end, stream):
        at = bisect.bisect_left(self.starts, start)
        behind = self.starts[at] if at < len(self.starts) else None
        before = self.starts[at - 1] if at else None
        ok = (behind is None or end <= behind) and (before is None or self.ends[before] <= start)
        if expect(ok, "segment at", start, "over another"):
            self.starts.insert(at, start)
            self.ends[start] = end
            self.streams[start] = stream

    def drop(self, start):
        if expect(start in self.ends, "no segment at", start):
            self.starts.remove(start)
            del self.streams[start]
            return self.ends.pop(start)
        return start

    def at(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        if at >= 0 and address < self.ends[self.starts[at]]:
            return self.starts[at]
        return None

    def join(self, start, end, stream):
        """Merges a mapped range with neighbouring ranges of its stream."""
        at = bisect.bisect_left(self.starts, start)
        if at < len(self.starts) and self.starts[at] == end and self.streams[end] == stream:
            end = self.drop(end)
        at = bisect.bisect_left(self.starts, start)
        if at and self.ends[self.starts[at - 1]] == start:
            before = self.starts[at - 1]
            if self.streams[before] == stream:
                self.drop(before)
                start = before
        self.add(start, end, stream)

    def take(self, start, end):
        """Removes a mapped range from the one that contains all of it."""
        holder = self.at(start)
        if not expect(holder is not None and end <= self.ends[holder], "no range holds", start,
                      end):
            return
        stream = self.streams[holder]
        last = self.drop(holder)
        if holder < start:
            self.add(holder, start, stream)
        if end < last:
            self.add(end, last, stream)

    def block_add(self, address, pending):
        expect(address not in self.blocks, "two blocks at", address)
        expect(self.at(address) is not None, "block at", address, "in no segment")
        self.blocks[address] = pending

    def block_drop(self, address, pending):
        expect(self.blocks.pop(address, None) == pending, "no block", pending, "at", address)

    def is_empty_range(self, start, end):
        return not any(start <= a < end for a in self.blocks)


def state_of(segments):
    state = State()
    for segment in segments:
        state.add(segment["address"], segment["address"] + segment["total_size"],
                  segment["stream"])
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                state.block_add(block["address"], block["state"] == "active_pending_free")
    return state


def undo(state, event):
    action, size, stream = event["action"], event["size"], event["stream"]
    addr = event.get("addr", 0)
    if action == "free_completed":
        state.block_add(addr, True)
    elif action == "free_requested":
        if expect(state.blocks.get(addr) is True, "nothing pending at", addr):
            state.blocks[addr] = False
    elif action == "alloc":
        state.block_drop(addr, False)
    elif action == "segment_free":
        state.add(addr, addr + size, stream)
    elif action == "segment_unmap":
        state.join(addr, addr + size, stream)
    elif action == "segment_alloc":
        end = state.drop(addr)
        expect(end == addr + size, "segment at", addr, "ends at", end, "not", addr + size)
        check_gone(state, addr, addr + size)
    elif action == "segment_map":
        state.take(addr, addr + size)
        check_gone(state, addr, addr + size)


def redo(state, event):
    action, size, stream = event["action"], event["size"], event["stream"]
    addr = event.get("addr", 0)
    if action == "alloc":
        state.block_add(addr, False)
    elif action == "free_requested":
        if expect(state.blocks.get(addr) is False, "nothing to free at", addr):
            state.blocks[addr] = True
    elif action == "free_completed":
        state.block_drop(addr, True)
    elif action == "segment_alloc":
        state.add(addr, addr + size, stream)
    elif action == "segment_map":
        state.join(addr, addr + size, stream)
    elif action == "segment_free":
        state.drop(addr)
        check_gone(state, addr, addr + size)
    elif action == "segment_unmap":
        state.take(addr, addr + size)
        check_gone(state, addr, addr + size)


def check_gone(state, start, end):
    expect(state.is_empty_range(start, end), "blocks outlive their segment at", start)


def check_trace(trace, segments):
    """From the final segments to before the first event, and forwards to the end."""
    state = state_of(segments)
    for event in reversed(trace):
        undo(state, event)
    for event in trace:
        redo(state, event)
    final = state_of(segments)
    # forwards, all neighbouring ranges are merged; the covered addresses must be the same
    for address in final.starts + [final.ends[s] - 1 for s in final.starts]:
        expect(state.at(address) is not None, "no segment any more at", address)
    covered = sum(state.ends[s] - s for s in state.starts)
    expect(covered == sum(final.ends[s] - s for s in final.starts), "segments at the end")
    expect(state.blocks == final.blocks, "blocks at the end")


# ---- against the recording's events ----


def check_events(snapshot, path, start_unix_ns):
    """Every block event of the recording is in the trace, and no other event of the framework."""
    told = [collections.Counter() for _ in snapshot["device_traces"]]
    for line in open(path):
        e = json.loads(line)
        kind, device = e["kind"], e["device"]
        us = (start_unix_ns + e["at_ns"]) // 1000
        if kind == "block_alloc":
            spare = e["spare"]
            size = e["bytes"] - (spare - 1 if spare else 0)
            told[device]["alloc", int(e["address"], 16), size, us] += 1
        elif kind == "block_free":
            told[device]["free_requested", int(e["address"], 16), None, us] += 1
            if not e["pending"]:
                told[device]["free_completed", int(e["address"], 16), None, us] += 1
        elif kind == "block_completed":
            told[device]["free_completed", int(e["address"], 16), None, us] += 1
        elif kind == "oom":
            told[device]["oom", None, e["bytes"], us] += 1
        elif kind in ("segment_alloc", "segment_free", "segment_map", "segment_unmap"):
            pass  # without reports they follow from the driver's events
    for device, trace in enumerate(snapshot["device_traces"]):
        found = collections.Counter()
        for event in trace:
            action = event["action"]
            if event.get("pool_id", (0, 0))[1] >= POOL_OUTSIDE:
                continue
            if action in ("alloc", "oom"):
                found[action, event.get("addr"), event["size"], event["time_us"]] += 1
            elif action in ("free_requested", "free_completed"):
                found[action, event["addr"], None, event["time_us"]] += 1
        missing, extra = told[device] - found, found - told[device]
        expect(not missing, "device", device, "misses", sum(missing.values()),
               list(missing)[:3])
        expect(not extra, "device", device, "invents", sum(extra.values()), list(extra)[:3])


# ---- against the output of write_history.c ----


def is_outside(event_or_pool):
    return event_or_pool[1] >= POOL_OUTSIDE


def check_expected(snapshot, path):
    lines = [json.loads(line) for line in open(path)]
    final = lines.pop()
    traces = [[], []]
    for e in lines:
        traces[e.pop("device")].append(e)
    for device, trace in enumerate(snapshot["device_traces"]):
        if not lines:
            break
        own = [e for e in trace if not is_outside(e.get("pool_id", (0, 0)))]
        expect(own.pop()["action"] == "snapshot", "the last event")
        expect(len(own) == len(traces[device]), "events", len(own), "not", len(traces[device]))
        for number, (ours, theirs) in enumerate(zip(own, traces[device])):
            ours = {"addr": 0, "pool_id": (0, 0), **ours}
            same = all(ours[key] == (tuple(value) if key == "pool_id" else value)
                       for key, value in theirs.items())
            if not expect(same, "event", number, ours, "not", theirs):
                break
    blocks, outside, reserved = [], [], [0, 0]
    for s in snapshot["segments"]:
        if is_outside(s["segment_pool_id"]):
            outside.append([s["device"], s["total_size"]])
            continue
        reserved[s["device"]] += s["total_size"]
        for b in s["blocks"]:
            if b["state"] != "inactive":
                blocks.append([s["device"], b["address"], b["size"], b["requested_size"],
                               b["state"]])
    expect(sorted(blocks) == sorted(final["blocks"]), "blocks at the end")
    expect(sorted(outside) == sorted(final["outside"]), "outside at the end")
    expect(reserved == final["reserved"], "reserved", reserved, "not", final["reserved"])


def main():
    data = open(sys.argv[1], "rb").read()
    check_opcodes(data)
    snapshot = pickle.loads(data)
    check_schema(snapshot)
    check_segments(snapshot["segments"])
    for device, trace in enumerate(snapshot["device_traces"]):
        check_trace(trace, [s for s in snapshot["segments"] if s["device"] == device])
    if len(sys.argv) > 2:
        check_events(snapshot, sys.argv[2], int(sys.argv[3]))
    if len(sys.argv) > 4:
        check_expected(snapshot, sys.argv[4])
    counts = collections.Counter(
        event["action"] for trace in snapshot["device_traces"] for event in trace)
    counts["segments"] = len(snapshot["segments"])
    print(", ".join(f"{counts[key]} {key}" for key in sorted(counts)))
    finish()


main()
