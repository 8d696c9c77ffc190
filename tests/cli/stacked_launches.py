"""Launches of a thread with a stack: the first, and every N-th after it; one line for all."""
import collections
import json
import sys

launches = collections.defaultdict(list)
others = collections.Counter()
process = 0
for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] == "fact" and event["key"] == 3:
        process += 1
    if event["kind"] == "launch":
        launches[process, event["thread"]].append("stack" in event)
    elif event["kind"] in ("alloc", "free"):
        others[event["kind"], "stack" in event] += 1
places = sorted({tuple(k for k, has in enumerate(of) if has) for of in launches.values()})
steps = sorted({b - a for of in places for a, b in zip(of, of[1:])})
print(
    sys.argv[1],
    "threads",
    len(launches),
    "launches",
    sorted({len(of) for of in launches.values()}),
    "with a stack",
    sorted(len(of) for of in places),
    "first",
    sorted({of[:1] for of in places}),
    "apart",
    steps,
    "allocations with one",
    others["alloc", True],
)
