"""The lives of a recording, from the text that `gpuprof dump --json` prints.

usage: slow_replay.py PROGRAM COUNT SEED RECORDING: prints live memory at random moments as JSON.
A second, slow reader for tests of the page. It shares no code with gpuprof: docs/JSON.md and
docs/FORMAT.md are its sources. Roles are rough here; only gpuprof has the rules.
"""
import copy
import json
import random
import subprocess
import sys

COUNTING = {"device", "async", "managed", "array", "physical", "graph"}
BLOCK, SEGMENT, DRIVER, PINNED = range(4)


def run(program, *arguments):
    """The output of a command, or None and its complaint."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        return None, done.stderr.strip() or f"exit status {done.returncode}"
    return done.stdout, None


def frame_text(frame):
    """A frame as reports print it, and whether it is of Python."""
    is_python = frame["module"] is None and frame["file"] is not None
    function = frame["function"]
    if is_python:
        return f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']} {function}", 1
    if function:
        return function.split("<")[0].split("(anonymous")[0] or function[:60], 0
    module = (frame["module"] or "?").rsplit("/", 1)[-1]
    return f"{module} {frame.get('address', '')}", 0


class Life:
    """One block, segment or driver memory: [birth, death), death None at the end."""
    __slots__ = ("birth", "death", "bytes", "address", "order", "of", "device", "event", "handle",
                 "maps", "is_released")

    def __init__(self, event, of):
        self.birth, self.death, self.of = event["at_ns"], None, of
        self.bytes = event["bytes"]
        self.address = int(event["address"], 16)
        self.order = event["order"]
        self.device = -1 if of == PINNED else event["device"]
        self.event = event
        self.handle = self.address if event.get("space") == "physical" else None
        self.maps = []              # of physical memory: where it is mapped
        self.is_released = False    # the handle; the mappings hold the memory

    @property
    def mapped(self):
        """Where the memory is; the handle, if it is not mapped."""
        return self.maps[0] if self.maps else self.handle or self.address


class Replay:
    """Reads events in exact order; afterwards `lives` and `curves` have the result."""

    def __init__(self, program, path):
        self.lives = []
        self.live = {}      # blocks and pinned memory by kind and address
        self.driver = {}    # driver memory, segments as well, by order
        self.orders = {}    # their orders by address or handle
        self.reserved = {}  # bytes of reservations by address
        self.held = set()   # those with blocks
        self.curves, self.marks, self.last_ns = {}, [], 0
        text, why = run(program, "dump", "--json", path)
        if text is None:
            raise SystemExit(f"fixture: {why}")
        for line in text.splitlines():
            event = json.loads(line)
            self.last_ns = max(self.last_ns, event["at_ns"])
            step = getattr(self, "on_" + event["kind"], None)
            if step:
                step(event)
        self.lives.sort(key=lambda life: (life.birth, life.order))

    def begin(self, event, of):
        life = Life(event, of)
        if life.bytes:
            self.lives.append(life)
        if of == DRIVER:
            self.driver[life.order] = life
            self.orders[life.address] = life.order
        else:
            self.live[(of, life.address)] = life

    def end(self, of, event):
        life = self.live.pop((of, int(event["address"], 16)), None)
        if life:
            life.death = event["at_ns"]
        return life

    def point(self, event, device, curve, value):
        points = self.curves.setdefault((device, curve), [])
        if points and points[-1][0] == event["at_ns"]:
            time, low, high, _ = points[-1]
            points[-1] = (time, min(low, value), max(high, value), value)
        elif not points or points[-1][3] != value:
            points.append((event["at_ns"], value, value, value))

    def change(self, event, device, curve, by):
        points = self.curves.get((device, curve))
        self.point(event, device, curve, (points[-1][3] if points else 0) + by)

    def on_block_alloc(self, event):
        self.claim(event)
        self.begin(event, BLOCK)
        self.totals(event)

    def on_block_existing(self, event):
        key = (BLOCK, int(event["address"], 16))
        if event["spare"] and not event["spare"] & 0x80000000 and key not in self.live:
            self.begin(event, BLOCK)

    def on_block_free(self, event):
        self.end(BLOCK, event)
        self.totals(event)

    def totals(self, event):
        self.point(event, event["device"], "allocated", event["allocated"])
        self.point(event, event["device"], "reserved", event["reserved"])

    def on_segment_alloc(self, event):
        if event["found"]:
            self.claim(event)

    on_segment_map = on_segment_alloc

    def on_alloc(self, event):
        if event["space"] in ("host", "host_register"):
            self.begin(event, PINNED)
            self.change(event, -1, "pinned", event["bytes"])
        elif event["space"] == "reservation":
            self.reserved[int(event["address"], 16)] = event["bytes"]
        elif event["space"] in COUNTING:
            self.begin(event, DRIVER)
            self.change(event, event["device"], "driver", event["bytes"])

    def on_map(self, event):
        life = self.driver.get(self.orders.get(int(event["handle"], 16)))
        if life:
            life.maps.append(int(event["address"], 16))
            if self.reservation_of(life.mapped) in self.held:
                self.move(event, life, SEGMENT)

    def on_unmap(self, event):
        begin = int(event["address"], 16)
        for life in list(self.driver.values()):
            left = [at for at in life.maps if not begin <= at < begin + event["bytes"]]
            if len(left) == len(life.maps):
                continue
            life.maps = left
            if not left and life.is_released:
                self.end_driver(event, life)
            elif not left:
                self.move(event, life, DRIVER)

    def end_driver(self, event, life):
        life.death = event["at_ns"]
        del self.driver[life.order]
        self.change(event, life.device, "driver", -life.bytes)

    def on_free(self, event):
        address = int(event["address"], 16)
        if self.reserved.pop(address, None):
            self.held.discard(address)
            return
        life = self.driver.get(self.orders.pop(address, None))
        if life and life.maps:
            life.is_released = True
            return
        if life:
            self.end_driver(event, life)
            return
        life = self.end(PINNED, event)
        if life:
            self.change(event, -1, "pinned", -life.bytes)

    def on_oom(self, event):
        self.marks.append({"at_ns": event["at_ns"], "kind": "oom",
                           "text": f"requested {event['bytes']} bytes"})

    def on_gap(self, event):
        self.marks.append({"at_ns": event["at_ns"], "kind": "gap", "text": "recording paused"})

    def on_lost(self, event):
        self.marks.append({"at_ns": event["at_ns"], "kind": "lost", "text": "events were lost"})

    def on_capture_begin(self, event):
        self.marks.append({"at_ns": event["at_ns"], "kind": "capture", "text": "graph capture"})

    def reservation_of(self, address):
        return next((begin for begin, size in self.reserved.items()
                     if begin <= address < begin + size), None)

    def claim(self, event):
        """Driver memory with a block in it is a segment from here on. A reservation is one piece."""
        begin, size = int(event["address"], 16), event["bytes"]
        reservation = self.reservation_of(begin)
        if reservation is not None:
            self.held.add(reservation)
            begin, size = reservation, self.reserved[reservation]
        for life in list(self.driver.values()):
            if life.mapped < begin + size and begin < life.mapped + life.bytes:
                self.move(event, life, SEGMENT)

    def move(self, event, life, of):
        """The memory becomes one of another kind: it has a new life."""
        if life.of == of:
            return
        new = copy.copy(life)
        life.death = new.birth = event["at_ns"]
        new.of, new.address = of, life.mapped
        self.lives.append(new)
        self.driver[life.order] = new

    def moments(self, count, seed=7):
        """Live memory at random moments, and at as many at which memory is freed."""
        chance = random.Random(seed)
        at = [chance.randrange(self.last_ns + 1) for _ in range(count)]
        at += [life.death for life in self.lives[::len(self.lives) // count + 1] if life.death]
        return [{"at_ns": moment, "of": of, "live": self.live_at(moment, of)}
                for moment in at for of in range(4)]

    def live_at(self, moment, of):
        """Lives of one kind at a moment, as (address, bytes)."""
        return sorted((life.address, life.bytes) for life in self.lives if life.of == of
                      and life.birth <= moment and (life.death is None or moment < life.death))


def rough_role(life):
    """A guess for pictures of fixtures; gpuprof's rules are better."""
    if life.of != BLOCK:
        return ""
    words = " ".join([*(name or "" for name in life.event.get("ranges") or []),
                      *((f["function"] or "") for f in life.event.get("stack") or [])]).lower()
    if "optimizer" in words or "_init_group" in words:
        return "optimizer" if life.death is None else "temporaries"
    if "backward" in words or "engine" in words:
        return "gradients" if life.bytes > 1 << 18 else "temporaries"
    if "cublas" in words or "cudnn" in words:
        return "workspace"
    if "forward" in words:
        return "activations"
    return "weights" if "module.to" in words or "_apply" in words else "unknown"


if __name__ == "__main__":
    json.dump(Replay(sys.argv[1], sys.argv[4]).moments(*map(int, sys.argv[2:4])), sys.stdout)
