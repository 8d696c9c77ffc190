"""Checks that each stack of ends_allocating.py is one of its three, or has no Python frame.

judge_ends.py TOP, the output of gpuprof top --json --native --top 0
"""
import collections
import json
import sys

WHOLE = {11, 12, 13}  # calls of deep()
seen = collections.Counter()
with open(sys.argv[1]) as top:
    groups = [group for curve in json.load(top)["curves"] for group in curve["groups"]]
for group in groups:
    names = [frame["function"].rsplit(".", 1)[-1] for frame in group["stack"] or []
             if (frame["file"] or "").endswith(".py")]
    calls = names.count("deep")
    expected = ["deep"] * calls + ["__call__", "run", "_bootstrap_inner", "_bootstrap"]
    if names and (calls not in WHOLE or names != expected):
        sys.exit(f"another stack: {names}")
    seen[calls] += group["count"]
print(", ".join(f"{seen[calls]} allocations in {calls} calls" for calls in sorted(seen)))
sys.exit(not WHOLE <= set(seen))
