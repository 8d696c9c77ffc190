"""phases_adds_up.py REPORT.json...: checks that a range has at least the sum of its children, and
that all ranges add up to the requested part, also calls and marks. Prints the number of ranges, and
the sums."""
import json
import sys

SUMS = ("allocated_bytes", "freed_bytes", "launches", "captured_launches", "graph_launches")


def check(phase, path):
    nested = [child for child in phase["children"] if child["style"] == "nested"]
    for key in SUMS:
        below = sum(child[key] for child in nested)
        assert (
            below <= phase[key]
        ), f"{path}: {key} of the children is {below}, of the range {phase[key]}"
    for child in nested:
        assert child["peak_bytes"] <= phase["peak_bytes"], f"{path}: peak"
    assert phase["style"] != "mark" or phase["peak_bytes"] is None, f"{path}: the peak of a mark"
    return 1 + sum(check(child, f"{path}/{child['name']}") for child in phase["children"])


def calls(phases):
    return sum(phase["calls"] + calls(phase["children"]) for phase in phases)


for name in sys.argv[1:]:
    report = json.load(open(name))
    tops = report["phases"]
    count = sum(check(phase, phase["name"]) for phase in tops)
    assert calls(tops) == sum(
        report[key] for key in ("calls", "marks", "forwards_derived")
    ), f"{name}: calls"
    counted = [phase for phase in tops if phase["style"] not in ("started", "mark")]
    print(count, *(sum(phase[key] for phase in counted) for key in SUMS))
