"""Checks each pair of recordings, both ways: changes add up, and the reverse has opposite signs.

A recording must not differ from itself.

diff_adds_up.py RECORDING...
"""
import itertools
import json
import subprocess
import sys


def diff(by, *paths):
    done = subprocess.run(
        ["gpuprof", "diff", "--json", "--by", by, *paths], capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{paths}: {done.returncode} {done.stderr}")
    report = json.loads(done.stdout)
    if report["different"] != (done.returncode == 1):
        sys.exit(f"{paths}: different is {report['different']}, exit {done.returncode}")
    return report


def changes(report):
    return {
        (c["device"], c["of"]): {g["key"]: g["change_bytes"][1] for g in c["groups"]}
        for c in report["curves"]
    }


def judge(by, a, b):
    there, back = diff(by, a, b), diff(by, b, a)
    for curve in there["curves"]:
        if (
            sum(g["change_bytes"][1] for g in curve["groups"])
            != curve["live_bytes"][1] - curve["live_bytes"][0]
        ):
            sys.exit(f"{a} {b} by {by}: {curve['of']} does not add up")
        keys = [g["key"] for g in curve["groups"]]
        if len(set(keys)) != len(keys):
            sys.exit(f"{a} {b} by {by}: two groups of one key")
    sums = [{k: (sorted(v.values())) for k, v in changes(r).items()} for r in (there, back)]
    for key, one in sums[0].items():
        if one != sorted(-change for change in sums[1][key]):
            sys.exit(f"{a} {b} by {by}: {key} is not the other way round")
    for device, other in zip(there["devices"], back["devices"]):
        if any(device[k] != other[k][::-1] for k in device if k != "device"):
            sys.exit(f"{a} {b} by {by}: figures are not the other way round")
    return len(there["curves"])


pairs = curves = 0
for a, b in itertools.combinations(sys.argv[1:], 2):
    for by in ("stack", "line", "operator", "library", "kind"):
        curves += judge(by, a, b)
    pairs += 1
for path in sys.argv[1:]:
    same = diff("stack", path, path)
    if same["different"] or any(c["groups"] or c["moved"] for c in same["curves"]):
        sys.exit(f"{path} differs from itself")
print(f"{pairs} pairs: {curves} tables add up and turn round;", end=" ")
print(f"{len(sys.argv) - 1} recordings are like themselves")
