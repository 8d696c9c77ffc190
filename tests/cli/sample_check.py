"""Compares samples with the job of preload_samples: sample_check.py RECORDING."""
import json
import subprocess
import sys


def report(*words):
    return json.loads(subprocess.run(["gpuprof", *words, "--json", sys.argv[1]], check=True,
                                     stdout=subprocess.PIPE).stdout)


gpu, = report("counters")["gpus"]
start_ns = report("info")["start_unix_ns"]
samples = gpu["samples"]
print("interval:", round(gpu["took_ns"] / 1e6), "ms")
neighbours = list(zip(samples, samples[1:]))
gaps = [b["at_ns"] - a["at_ns"] - a["took_ns"] for a, b in neighbours]
print("neither gaps nor overlaps:", gpu["lost"] == 0 and max(map(abs, gaps)) < 200000)
span_ns = samples[-1]["at_ns"] + samples[-1]["took_ns"] - samples[0]["at_ns"]
expected = span_ns / gpu["took_ns"]
print("as many as the time has:", abs(len(samples) - expected) < 0.02 * expected)
# the GPU's own moment, modulo 100 s, to a tenth of a millisecond
ends = [(start_ns + s["at_ns"] + s["took_ns"]) / 1e9 for s in samples]
late = [(end - s["values"][1] + 50) % 100 - 50 for end, s in zip(ends, samples)]
print("at the right time:", -0.001 < min(late) and max(late) < 0.02)
edges = sum((a["values"][0] > 50) != (b["values"][0] > 50) for a, b in neighbours)
print("edges of work:", edges in (10, 11))
