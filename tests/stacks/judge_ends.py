"""Whether each stack of ends_allocating.py is one of its three, or has no frame of Python.

judge_ends.py EVENTS
"""
import collections
import json
import sys

WHOLE = {11, 12, 13}  # calls of deep()
seen = collections.Counter()
for event in map(json.loads, open(sys.argv[1])):
    names = [frame["function"].rsplit(".", 1)[-1] for frame in event["stack"] or []
             if (frame["file"] or "").endswith(".py")]
    calls = names.count("deep")
    expected = ["deep"] * calls + ["__call__", "run", "_bootstrap_inner", "_bootstrap"]
    if names and (calls not in WHOLE or names != expected):
        sys.exit(f"another stack: {names}")
    seen[calls] += 1
print(", ".join(f"{seen[calls]} events in {calls} calls" for calls in sorted(seen)))
sys.exit(not WHOLE <= set(seen))
