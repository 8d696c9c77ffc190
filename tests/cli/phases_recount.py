"""phases_recount.py REPORT DUMP...: compares each row of `phases --json --recorded-only` with a
count from `dump --bare --json`. Ranges of a thread come from its pushes and pops, the curve from
the totals in the framework's events. Prints the number of rows, and the peak outside of all
ranges."""
import collections
import json
import sys

SOURCES = {1: "nvtx", 2: "torch", 3: "engine", 4: "control"}
OUTSIDE, AMBIGUOUS = ("outside",), ("ambiguous",)
SUMS = ("allocated_bytes", "freed_bytes", "launches", "captured_launches", "graph_launches")


class Recount:
    def __init__(self, events):
        self.rows = collections.defaultdict(lambda: dict.fromkeys((*SUMS, "peak_bytes"), 0))
        self.open = collections.defaultdict(
            list
        )  # by thread and depth: path and source; None: it has ended
        self.curve = collections.Counter()  # by device
        self.names = {0: None}
        self.capturing = set()
        self.workers = {
            event["number"]
            for event in events
            if event["kind"] == "thread" and (event["text"] or "").startswith("pt_autograd")
        }
        for event in events:
            self.see(event)

    def own(self, thread):
        return [item for item in self.open[thread] if item]

    def path_of(self, thread, source=None):
        own = self.own(thread)
        if own:
            return own[-1][0]
        if thread not in self.workers and (self.workers or source == "engine"):
            return OUTSIDE
        inside = []
        for other in set(self.open) - self.workers - {thread}:
            inside += [path for path, source in self.own(other) if source == "engine"][-1:]
        return inside[0] if len(inside) == 1 else AMBIGUOUS if inside else OUTSIDE

    def note(self, *paths):
        for path in paths:
            self.rows[path]["peak_bytes"] = max(
                self.rows[path]["peak_bytes"], sum(self.curve.values())
            )

    def push(self, event):
        source, stack = SOURCES[event["source"]], self.open[event["thread"]]
        above = self.path_of(event["thread"], source)
        path = (above if above != OUTSIDE else ()) + (
            (source, self.names[event["domain"]], event.get("name")),
        )
        assert len(stack) == event["depth"], event
        stack.append((path, source))

    def pop(self, event):
        stack = self.open[event["thread"]]
        if not event["unbalanced"]:
            stack[event["depth"]] = None
        while stack and not stack[-1]:
            stack.pop()

    def work(self, event):
        path = self.path_of(event["thread"])
        alone = [path] if path in (OUTSIDE, AMBIGUOUS) else []
        self.note(*alone)
        if "allocated" in event:
            change = event["allocated"] - self.curve[event["device"]]
            self.curve[event["device"]] += change
            self.rows[path]["allocated_bytes" if change > 0 else "freed_bytes"] += abs(change)
        else:
            is_captured = event["stream"] in self.capturing
            self.rows[path]["captured_launches" if is_captured else event["kind"] + "es"] += 1
        self.note(*alone)

    def see(self, event):
        kind = event["kind"]
        if kind == "range_name":
            self.names[event["id"]] = event["text"]
        elif kind == "range_push":
            self.push(event)
        elif kind == "range_pop":
            self.pop(event)
        elif kind == "capture_begin":
            self.capturing.add(event["stream"])
        elif kind == "capture_end":
            self.capturing.discard(event["stream"])
        elif kind in ("launch", "graph_launch", "block_alloc", "block_free"):
            self.work(event)
        opened = [path for thread in self.open for path, _ in self.own(thread)]
        self.note(*opened or [OUTSIDE])
        self.note(*[AMBIGUOUS for path in opened if path[0] == AMBIGUOUS[0]])


def compare(phase, above, rows):
    if phase["style"] in ("started", "mark"):
        return 0
    path = above + ((phase["source"], phase["domain"], phase["name"]),)
    path = path if phase["style"] == "nested" else (phase["style"],)
    own = {
        key: phase[key]
        - sum(child[key] for child in phase["children"] if child["style"] == "nested")
        for key in SUMS
    }
    own["peak_bytes"] = phase["peak_bytes"]
    assert own == rows[path], f"{path}: {own}, counted {rows[path]}"
    return 1 + sum(compare(child, path, rows) for child in phase["children"])


for report, dump in zip(sys.argv[1::2], sys.argv[2::2]):
    rows = Recount([json.loads(line) for line in open(dump)]).rows
    phases = json.load(open(report))["phases"]
    count = sum(compare(phase, (), rows) for phase in phases)
    print(count, *(phase["peak_bytes"] for phase in phases if phase["style"] == "outside"))
