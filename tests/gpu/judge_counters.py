"""Holds counters against Nsight Compute: judge_counters.py GPUPROF RECORDING NCU_CSV.

NCU_CSV is of `ncu --csv --page raw --print-units base` on the same job. Of each kernel and launch shape that both
measured, the medians of each metric must differ by 5% at most, or by a point of a peak.
"""
import collections
import csv
import json
import statistics
import subprocess
import sys

MOST, POINTS = 0.05, 1.0
NANOSECONDS = {"second": 1e9, "s": 1e9, "msecond": 1e6, "ms": 1e6, "usecond": 1e3, "us": 1e3}  # a time's unit
gpuprof, recording, ncu_csv = sys.argv[1:4]


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} counters: {what}")


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def size(text):
    """"(1024, 1, 1)" as a list."""
    return [int(word) for word in text.strip("() ").split(",")]


def of_ncu():
    """Values by kernel and shape, then by metric."""
    with open(ncu_csv, encoding="utf-8") as file:
        lines = [line for line in file if line.startswith('"')]
    values = collections.defaultdict(lambda: collections.defaultdict(list))
    units = {}
    for row in csv.DictReader(lines):
        if not row["ID"]:
            units = row
            continue
        key = row["Kernel Name"], *size(row["Grid Size"]), *size(row["Block Size"])
        for metric, text in row.items():
            if "__" in metric and number(text) is not None:
                values[key][metric].append(number(text) * NANOSECONDS.get(units.get(metric), 1))
    return values


report = json.loads(subprocess.run([gpuprof, "counters", "--json", "--top", "0", recording], check=True,
                                   stdout=subprocess.PIPE).stdout)
claim(f"counters were recorded ({report['why']})", report["has_counters"])
theirs, compared = of_ncu(), 0
for kernel in report["kernels"]:
    key = kernel["symbol"], *kernel["grid"], *kernel["block"]
    if key not in theirs:
        continue
    compared += 1
    far = []
    for metric in kernel["metrics"]:
        values = theirs[key].get(metric["name"])
        if not values or metric["value"] is None:
            far.append(f"{metric['name']} is missing")
            continue
        ours, ncu = metric["value"], statistics.median(values)
        limit = MOST * abs(ncu)
        if "pct_of_peak" in metric["name"]:
            limit = max(limit, POINTS)
        if abs(ours - ncu) > limit:
            far.append(f"{metric['name']} {ours:g}, ncu {ncu:g}")
    name = kernel["name"][:60]
    claim(f"{name}: {len(kernel['metrics'])} metrics within 5% of ncu's {'; '.join(far)}", not far)
    print(f"     {name}: bound by {kernel['bound']}, roof {kernel['roof']}, intensity {kernel['intensity']}")
claim(f"three kernels at least are compared ({compared})", compared >= 3)
bounds = {kernel["bound"] for kernel in report["kernels"]}
claim(f"one kernel is bound by DRAM or L2 and one by compute ({sorted(map(str, bounds))})",
      "compute" in bounds and bounds & {"memory", "L2"})
