"""Blocks by range of `gpuprof top --by range --json` must equal the counts of `gpuprof phases
--fold 5 --json`: TOP PHASES"""
import collections
import json
import sys

top, phases = (json.load(open(path)) for path in sys.argv[1:3])
found, wanted = collections.Counter(), collections.Counter()
for device in top["curves"]:
    if device["of"] == phases["of"]:
        for group in device["groups"]:
            found[tuple(group["ranges"])] += group["bytes"]


def walk(phase, above):
    path = above if phase["style"] == "outside" else above + (phase["name"],)
    inside = sum(walk(child, path) for child in phase["children"])
    wanted[path] += phase["allocated_bytes"] - inside
    return phase["allocated_bytes"]


for phase in phases["phases"]:
    walk(phase, ())
if +found != +wanted:
    sys.exit("%s, phases has %s" % (+found, +wanted))
print(len(+found), sum(found.values()))
