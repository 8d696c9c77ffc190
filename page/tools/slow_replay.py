"""The lives of a recording, from the text that `gpuprof dump --json` prints.

A second, slow reader for tests of the page. It shares no code with gpuprof: docs/JSON.md and
docs/FORMAT.md are its sources. Roles are rough here; only gpuprof has the rules.
"""
import json
import subprocess

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
    """One block, segment or driver allocation: [birth, death), death None at the end."""
    __slots__ = ("birth", "death", "bytes", "address", "order", "of", "device", "event", "mapped")

    def __init__(self, event, of):
        self.birth, self.death, self.of = event["at_ns"], None, of
        self.bytes = event["bytes"]
        self.address = int(event["address"], 16)
        self.order = event["order"]
        self.device = -1 if of == PINNED else event["device"]
        self.event = event
        self.mapped = self.address  # of physical memory: where it is mapped


class Replay:
    """Reads events in exact order; afterwards `lives` and `curves` have the result."""

    def __init__(self, program, path):
        self.lives = []
        self.live = {}    # blocks, pinned memory and segments by kind and address
        self.driver = {}  # driver memory by address or handle
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
            self.driver[life.address] = life
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
        if not self.claim(event):
            self.begin(event, SEGMENT)

    on_segment_map = on_segment_alloc

    def on_segment_free(self, event):
        self.end(SEGMENT, event)

    def on_segment_unmap(self, event):
        begin = int(event["address"], 16)
        for (of, address), life in list(self.live.items()):
            if of == SEGMENT and begin <= address < begin + event["bytes"]:
                life.death = event["at_ns"]
                del self.live[(of, address)]

    def on_alloc(self, event):
        if event["space"] in ("host", "host_register"):
            self.begin(event, PINNED)
            self.change(event, -1, "pinned", event["bytes"])
        elif event["space"] in COUNTING:
            self.begin(event, DRIVER)
            self.change(event, event["device"], "driver", event["bytes"])

    def on_map(self, event):
        life = self.driver.get(int(event["handle"], 16))
        if life:
            life.mapped = int(event["address"], 16)

    def on_free(self, event):
        life = self.driver.pop(int(event["address"], 16), None)
        if life:
            life.death = event["at_ns"]
            self.change(event, life.device, "driver", -life.bytes)
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

    def claim(self, event):
        """Driver memory in a segment, or with a block in it, is a segment. Was there any?"""
        begin = int(event["address"], 16)
        parts = [life for life in self.driver.values()
                 if life.mapped < begin + event["bytes"] and begin < life.mapped + life.bytes]
        for life in parts:
            life.of, life.address = SEGMENT, life.mapped
        return bool(parts)

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
