"""Holds a recording of paged_server.py against the server's bookkeeping: judge_paged.py GPUPROF RECORDING OUTPUT.

At each moment the curves must be PyTorch's figures. While the server sleeps, the driver must map less by as much as the
server released. The rows of `info` must be the server's terms. That of activations may differ by WRONG_MOST of the
server's: its peak in the profiling run less the weights, and less what the run kept.
"""
import json
import subprocess
import sys

WRONG_MOST = 0.005  # of the bytes may have a wrong role

gpuprof, recording, output = sys.argv[1:4]


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} serving: {what}")


def report(*words):
    return json.loads(subprocess.run([gpuprof, *words, "--json", recording], check=True, stdout=subprocess.PIPE).stdout)


def rows_of(key, counts):
    return [row["bytes"] for row in report("info")["inference"] if (row["key"], row["counts"]) == (key, counts)]


with open(output, encoding="utf-8") as file:
    job = json.loads(file.read().splitlines()[-1])
start_ns = report("info")["start_unix_ns"]
live = {}
for moment in job["moments"]:
    at = (moment["at_ns"] - start_ns) / 1e9
    for curve in ("allocated", "reserved", "driver"):
        found = report("peak", "--no-stacks", "--at", f"{at:.6f}s", "--of", curve)["curves"][0]["live_bytes"]
        live[moment["name"], curve] = found
        if curve in moment:
            claim(f"{moment['name']}: {curve} {found}, PyTorch {moment[curve]}", found == moment[curve])
asleep = job["terms"]["asleep"]
fell = live["served", "driver"] - live["asleep", "driver"]
claim(f"asleep: the driver maps {fell} bytes less, the server released {asleep}", fell == asleep)
claim("asleep: PyTorch reserves what it reserved before",
      live["asleep", "reserved"] == live["served", "reserved"])
rose = live["awake", "driver"] - live["asleep", "driver"]
claim(f"awake: the driver maps {rose} bytes more", rose == asleep)
for key, counts, term in (("weights", "blocks", "weights"), ("graph_pool", "segments", "graph_pool"),
                          ("unmapped", "segments", "asleep")):
    rows = rows_of(key, counts)
    claim(f"info: {key} {rows}, the server {job['terms'][term]}", rows == [job["terms"][term]])
peak, kept = job["terms"]["profile_peak"], job["terms"]["profile_kept"]
rows = rows_of("activations", "blocks")
claim(f"info: activations {rows}, the server {peak - kept}: its peak {peak}, without {kept} that the run kept",
      len(rows) == 1 and abs(rows[0] - (peak - kept)) <= WRONG_MOST * (peak - kept))
line = report("info")["number_line"]
for key, number in (("free", line["free_bytes"]), ("context", line["owners"].get("context and earlier processes"))):
    claim(f"info: {key} {rows_of(key, 'driver')}, the number line {number}", rows_of(key, "driver") == [number])
