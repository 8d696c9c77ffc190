"""Compares `gpuprof idle --json` with a separate count, from the events of `gpuprof dump --bare
--json`.

idle_adds_up.py RECORDING...

It keeps live memory by address alone, and finds uses by a search through all of it. The peak is
where the framework's blocks (else the driver's memory) are most. It takes only the events from
the program. A recording must have one device, and neither gaps of a flight recorder nor mapped
memory."""
import bisect
import json
import subprocess
import sys

LEASTS = (1, 100, 1000)
STATES = ("busy", "never", "early", "late", "between", "unknown")
DEVICE = ("device", "async", "managed", "graph")
HOST = ("host", "host_register")
CHURN, PINNED = 10, 4


def fail(path, text):
    sys.exit(f"{path}: {text}")


class Life:
    def __init__(self, event, kind, launches):
        self.bytes, self.kind, self.born = event["bytes"], kind, launches
        self.address = int(event["address"], 16)
        self.uses, self.freed, self.is_segment = (
            [],
            None,
            False,
        )  # uses: (launches by then, number of the event)


class Job:
    """All allocations, with their uses as the number of earlier launches."""

    def __init__(self, path):
        self.live, self.lives, self.launches, self.number = {}, [], 0, 0
        self.counts = dict.fromkeys(
            (
                "launches",
                "captured_launches",
                "resolved",
                "graph_launches",
                "graph_resolved",
                "copies",
                "copies_resolved",
                "addresses",
                "addresses_resolved",
            ),
            0,
        )
        self.sums, self.peaks = {"block": 0, "driver": 0}, {
            "block": (0, None, []),
            "driver": (0, None, []),
        }
        self.captures, self.graphs, self.execs, self.pending = {}, {}, {}, {}
        self.starts = None
        words = ["gpuprof", "dump", "--bare", "--json", path]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as dump:
            for line in dump.stdout:
                self.see(path, json.loads(line))
        if dump.returncode:
            fail(path, f"dump ends with {dump.returncode}")

    def begin(self, path, event, kind):
        life = Life(event, kind, self.launches)
        if event["bytes"] == 0:
            return
        side = "block" if kind == "block" else "driver"
        key = (side, life.address)
        if key in self.live:
            fail(path, f"{event['address']} lives already")
        self.live[key] = life
        self.lives.append(life)
        self.starts = None
        if kind == "block":
            around = self.around("driver", life.address)
            if around:
                around.is_segment = True
        if kind in HOST:
            return
        self.sums[side] += life.bytes
        if self.sums[side] > self.peaks[side][0]:
            at = [l for l in self.live.values() if l.kind not in HOST]
            self.peaks[side] = (self.sums[side], self.number, at)

    def end(self, side, address):
        life = self.live.pop((side, address), None)
        self.starts = None
        if life is None:
            return
        life.freed = self.launches
        if life.kind not in HOST:
            self.sums[side] -= life.bytes

    def around(self, side, address):
        if self.starts is None:
            self.starts = {
                s: sorted(a for t, a in self.live if t == s) for s in ("block", "driver")
            }
        starts = self.starts[side]
        at = bisect.bisect_right(starts, address) - 1
        life = self.live[(side, starts[at])] if at >= 0 else None
        return life if life and address < life.address + life.bytes else None

    def use(self, address):
        self.counts["addresses"] += 1
        life = self.around("block", address) or self.around("driver", address)
        if life is None or life.is_segment:
            return False
        life.uses.append((self.launches, self.number))
        self.counts["addresses_resolved"] += 1
        return True

    def see_launch(self, event):
        stream = event["stream"]
        self.pending[event["thread"]] = True
        if stream in self.captures:
            self.counts["captured_launches"] += 1
            self.captures[stream][0] += 1
        else:
            self.counts["launches"] += 1
            self.launches += 1

    def see_use(self, event):
        words = [int(event[k], 16) for k in ("first", "second", "third", "fourth")]
        if event["what"] & 0x8000:
            for capture in self.captures.values():
                capture[1].update(w for w in words if w)
        is_resolved = any([self.use(w) for w in words if w])
        if event["what"] & 0xFF:
            self.counts["copies"] += 1
            self.counts["copies_resolved"] += is_resolved
        elif is_resolved and self.pending.get(event["thread"]):
            self.counts["resolved"] += 1
            self.pending[event["thread"]] = False

    def see(self, path, event):
        kind = event["kind"]
        self.number += 1
        if kind in ("gap", "scope", "lost", "map", "unmap", "free_failed", "owner_gone") or event[
            "device"
        ] not in (0, None):
            fail(path, f"{kind} of device {event['device']} is beyond this count")
        if event["code"] and kind in ("alloc", "launch", "graph_launch"):
            return
        if kind in ("alloc", "block_alloc"):
            self.begin(path, event, "block" if kind == "block_alloc" else event["space"])
        elif kind in ("free", "block_free"):
            self.end("block" if kind == "block_free" else "driver", int(event["address"], 16))
        elif kind == "launch":
            self.see_launch(event)
        elif kind == "use":
            self.see_use(event)
        elif kind == "capture_begin":
            self.captures[event["stream"]] = [0, set()]
        elif kind == "capture_end":
            self.graphs[event["graph"]] = self.captures.pop(event["stream"])
        elif kind == "graph_instantiate":
            self.execs[event["exec"]] = self.graphs[event["graph"]]
        elif kind == "graph_launch":
            launches, addresses = self.execs[event["exec"]]
            self.counts["graph_launches"] += 1
            self.launches += max(launches, 1)
            self.counts["graph_resolved"] += any([self.use(a) for a in addresses])

    def state(self, life, at, least):
        before = [u for u in life.uses if u[1] <= at]
        after = [u for u in life.uses if u[1] > at]
        until = after[0][0] if after else life.freed if life.freed is not None else self.launches
        since = before[-1][0] if before else life.born
        if until - since < least:
            return "busy"
        if not before:
            return "early" if after else "never"
        return "between" if after else "late"

    def waste(self, life, least):
        end = life.freed if life.freed is not None else self.launches
        if life.kind in HOST:
            if life.freed is None:
                yield "pinned"
            return
        if life.kind != "block" and life.freed is not None:
            yield "churn"
        if not life.uses:
            if end > life.born:
                yield "never"
            return
        at = [u[0] for u in life.uses]
        if at[0] - life.born >= least:
            yield "early"
        if end - at[-1] >= least:
            yield "late"
        if max([b - a for a, b in zip(at, at[1:])], default=0) >= least:
            yield "between"


def idle(path, least):
    words = ["gpuprof", "idle", "--json", "--least", str(least), path]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        fail(path, f"idle ends with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def total(sums):
    return {"bytes": sum(s["bytes"] for s in sums), "count": sum(s["count"] for s in sums)}


def judge_device(path, job, device, least):
    side = "block" if device["of"] == "allocated" else "driver"
    bytes_then, at, lives = job.peaks[side]
    if (side == "block") != (job.peaks["block"][0] > 0):
        fail(path, f"the peak is not that of {device['of']}")
    for part, is_own in ((device, True), (device["beside"], False)):
        sums = {s: {"bytes": 0, "count": 0} for s in STATES}
        for life in lives:
            if (
                life.is_segment
                or (side == "block" and (life.kind == "block") != is_own)
                or (side == "driver" and not is_own)
            ):
                continue
            state = job.state(life, at, least)
            sums[state]["bytes"] += life.bytes
            sums[state]["count"] += 1
        whole = total(sums.values())
        if part["states"] != sums or {k: part[k] for k in whole} != whole:
            fail(
                path, f"--least {least}: {part['states']} of {part['bytes']} bytes, counted {sums}"
            )
        if is_own and whole["bytes"] != bytes_then:
            fail(path, f"{whole['bytes']} bytes at a peak of {bytes_then}")
    for state in STATES:
        rows = total([r for r in device["rows"] if r["state"] == state])
        told = total([part["states"][state] for part in (device, device["beside"])])
        if rows != (told if state != "busy" else total([])):
            fail(path, f"--least {least}: rows of {state} hold {rows}, not {told}")


def judge_waste(path, job, report, least):
    counted, told = {}, {}
    for life in job.lives:
        for pattern in job.waste(life, least) if not life.is_segment else ():
            sums = counted.setdefault(pattern, {"bytes": 0, "count": 0})
            sums["bytes"] += life.bytes
            sums["count"] += 1
    for row in report["waste"]:
        sums = told.setdefault(row["pattern"], {"bytes": 0, "count": 0})
        sums["bytes"] += row["bytes"]
        sums["count"] += row["count"]
    for pattern in ("early", "late", "never", "between"):
        if told.get(pattern) != counted.get(pattern):
            fail(
                path,
                f"--least {least}: {pattern} {told.get(pattern)}, counted {counted.get(pattern)}",
            )
    for pattern, fewest in (
        ("churn", CHURN),
        ("pinned", PINNED),
    ):  # by stack, those with a pattern
        if pattern in told and (
            told[pattern]["count"] < fewest or told[pattern]["bytes"] > counted[pattern]["bytes"]
        ):
            fail(path, f"{pattern} {told[pattern]}, counted {counted[pattern]}")


sums = 0
for recording in sys.argv[1:]:
    job = Job(recording)
    for least in LEASTS:
        report = idle(recording, least)
        told = {k: report["uses"][k] for k in job.counts}
        if told != job.counts:
            fail(recording, f"uses {told}, counted {job.counts}")
        if [d["device"] for d in report["devices"]] != [0]:
            fail(recording, "one device has uses")
        judge_device(recording, job, report["devices"][0], least)
        judge_waste(recording, job, report, least)
        sums += 1
print(f"{len(sys.argv) - 1} recordings: {sums} reports are what their events add up to")
