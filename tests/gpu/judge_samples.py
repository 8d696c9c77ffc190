"""Compares samples of a GPU with what the job did: judge_samples.py GPUPROF RECORDING PHASES INTERVAL_MS.

PHASES is the output of sample_jobs.py. Samples within EDGE of a phase's edge count for no phase.
"""
import json
import statistics
import subprocess
import sys

EDGE_NS = 20e6
gpuprof, recording, phases_file, interval_ms = sys.argv[1:5]


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} pm_sampling: {what}")


def report(*words):
    return json.loads(subprocess.run([gpuprof, *words, "--json", recording], check=True, stdout=subprocess.PIPE).stdout)


with open(phases_file, encoding="utf-8") as file:
    phases = json.loads(file.read().splitlines()[-1])
start_ns = report("info")["start_unix_ns"]
gpus = report("counters")["gpus"]
claim(f"one GPU is sampled ({len(gpus)})", len(gpus) == 1)
if not gpus:
    sys.exit()
gpu, interval_ns = gpus[0], float(interval_ms) * 1e6
place = {metric["label"]: k for k, metric in enumerate(gpu["metrics"])}
samples = gpu["samples"]
for metric in gpu["metrics"]:
    print(f"     {metric['label']}: mean {metric['mean']:g}, median {metric['median']:g}, max {metric['max']:g}")


def between(begin_ns, end_ns):
    """Samples whose middle lies between two moments of CLOCK_REALTIME."""
    return [s for s in samples if begin_ns <= start_ns + s["at_ns"] + s["took_ns"] / 2 < end_ns]


def mean(label, some):
    return statistics.fmean(s["values"][place[label]] for s in some)


def of(name):
    return [s for p in phases if p["name"] == name for s in between(p["begin_ns"] + EDGE_NS, p["end_ns"] - EDGE_NS)]


took = gpu["took_ns"]
claim(f"a sample takes the interval ({took / 1e6:.3f} ms)", abs(took - interval_ns) < 0.02 * interval_ns)
first, last = phases[0]["begin_ns"], phases[-1]["end_ns"]
found, expected = len(between(first, last)), (last - first) / interval_ns
claim(f"{found} samples, expected {expected:.0f}", abs(found - expected) < 0.02 * expected)
claim(f"no sample is missing ({gpu['lost']})", gpu["lost"] == 0)
busy, rest = mean("SM active", of("busy")), mean("SM active", of("rest"))
claim(f"SM active {busy:.1f}% in products, at least 90%", busy >= 90)
claim(f"SM active {rest:.1f}% at rest, at most 10%", rest <= 10)
turns = [p for p in phases if p["name"] != "copy"]
share = 100 * sum(p["end_ns"] - p["begin_ns"] for p in turns if p["name"] == "busy") / (
    turns[-1]["end_ns"] - turns[0]["begin_ns"])
whole = mean("SM active", between(turns[0]["begin_ns"], turns[-1]["end_ns"]))
claim(f"SM active {whole:.1f}% of all turns, of which {share:.1f}% are products", abs(whole - share) <= 10)
claim(f"tensor cores {mean('tensor cores', of('busy')):.1f}% in products, more than 30%",
      mean("tensor cores", of("busy")) > 30)
# a sample that is half busy has the edge in its middle
late = []
for p in turns:
    near = between(p["begin_ns"] - 100e6, p["begin_ns"] + 100e6) if p["name"] == "busy" else []
    edge = next((b for a, b in zip(near, near[1:])
                 if a["values"][place["SM active"]] < 50 <= b["values"][place["SM active"]]), None)
    if edge:
        late.append((start_ns + edge["at_ns"] - p["begin_ns"]) / 1e6)
claim(f"edges of products are {[round(ms, 1) for ms in late]} ms late, at most two intervals and 2 ms",
      len(late) >= 6 and all(abs(ms) <= 2 * interval_ns / 1e6 + 2 for ms in late))
read, write = mean("DRAM read", of("copy")), mean("DRAM write", of("copy"))
claim(f"copies read {read:.1f}% and write {write:.1f}% of DRAM, more than 25% each", min(read, write) > 25)
claim(f"products read less ({mean('DRAM read', of('busy')):.1f}%)", mean("DRAM read", of("busy")) < read)
