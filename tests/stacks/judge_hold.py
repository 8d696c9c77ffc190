"""Compares `gpuprof peak --json --by line` and `top --json --by line` with the counts of hold.py.

judge_hold.py COUNTS PEAK TOP
"""
import json
import sys

said, peak, top = (json.load(open(path)) for path in sys.argv[1:4])


def lines(groups, bytes_key, count_key):
    """{line: [bytes, count]} of hold.py's own lines."""
    out = {}
    for group in groups:
        file, _, line = group["key"].rpartition(":")
        if not file.endswith("hold.py"):
            sys.exit("not a line of hold.py: %s" % group["key"])
        out[line] = [group[bytes_key], group[count_key]]
    return out


def one(report, of):
    found = [d for d in report["curves"] if d["of"] == of]
    if len(found) != 1:
        sys.exit("%d entries of %s" % (len(found), of))
    return found[0]


for device in peak["curves"]:
    total = sum(group["bytes"] for group in device["groups"])
    if total != device["live_bytes"]:
        sys.exit("%s: groups add up to %d, live are %d" % (device["of"], total, device["live_bytes"]))
held, asked = one(peak, "allocated"), one(top, "allocated")
if held["live_bytes"] != said["peak"]:
    sys.exit("peak %d, said %d" % (held["live_bytes"], said["peak"]))
for what, got, wanted in (
    ("held", lines(held["groups"], "bytes", "count"), said["held"]),
    ("asked", lines(asked["groups"], "bytes", "count"), said["asked"]),
):
    if got != wanted:
        sys.exit("%s\n got  %s\n said %s" % (what, got, wanted))
if asked["live_bytes"] != said["live"]:
    sys.exit("live %d, said %d" % (asked["live_bytes"], said["live"]))
outside = [g for g in one(peak, "driver")["groups"] if not g["segment"]]
if [g["bytes"] for g in outside] != [9 << 20]:
    sys.exit("outside the framework: %s" % outside)
print("%d lines held %d bytes at the peak, as said" % (len(said["held"]), said["peak"]))
