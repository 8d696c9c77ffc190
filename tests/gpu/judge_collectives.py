"""Holds `gpuprof collectives` against the job's own calls and torch.profiler: judge_collectives.py GPUPROF RECORDING JOB.

JOB is the file that collective_jobs.py wrote for this rank. Bandwidth is computed from torch.profiler's kernels by the
formulas of nccl-tests.
"""
import json
import subprocess
import sys

gpuprof, recording, job_file = sys.argv[1:]
with open(job_file, encoding="utf-8") as file:
    job = json.load(file)
N = job["ranks"]
TOLERANCE = 0.05
# bytes that nccl-tests counts by those of a call, and busbw by algbw
FORMULAS = {"AllReduce": (1, 2 * (N - 1) / N), "AllGather": (N, (N - 1) / N), "ReduceScatter": (N, (N - 1) / N),
            "AlltoAll": (N, (N - 1) / N), "Broadcast": (1, 1)}


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} collectives-{job['rank']}: {what}")


def union(spans):
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([begin, end])
    return merged


def overlap(kernels):
    """Share of the time of NCCL's kernels in which others ran."""
    spans = {is_nccl: [(k["begin_ns"], k["begin_ns"] + k["took_ns"]) for k in kernels
                       if k["name"].startswith("nccl") == is_nccl] for is_nccl in (True, False)}
    others = union(spans[False])
    total = sum(end - begin for begin, end in spans[True])
    both = sum(max(0, min(end, until) - max(begin, since)) for begin, end in spans[True] for since, until in others)
    return both / total if total else 0


def near(found, expected):
    return found is not None and abs(found / expected - 1) <= TOLERANCE


report = json.loads(subprocess.run([gpuprof, "collectives", "--json", recording], check=True,
                                   stdout=subprocess.PIPE).stdout)
print(f"     NCCL {job['nccl']}: {report['calls']} calls, kernels {report['kernels']}")
claim("GPU time is recorded", report["has_gpu_time"])
claim(f"every call has its size ({report['unsized']} have none)", report["unsized"] == 0)
claim(f"each kernel of NCCL has a call ({report['kernels']['alone']} have none)", report["kernels"]["alone"] == 0)
worlds = [c for c in report["communicators"] if c["ranks"] == N]
claim(f"a communicator has rank {job['rank']} of {N} on GPU {job['device']}",
      any((c["rank"], c["device"]) == (job["rank"], job["device"]) for c in worlds))
for own in job["found"]:
    what = f"{own['operation']} of {own['bytes']} bytes"
    names = ("Send", "Recv") if own["operation"] == "SendRecv" else (own["operation"],)
    for name in names:
        rows = [r for r in report["collectives"] if (r["operation"], r["message_bytes"]) == (name, own["bytes"])]
        claim(f"{what}: one row of {name}", len(rows) == 1)
        if len(rows) != 1:
            continue
        row, = rows
        claim(f"{what}: {row['count']} calls of {name}, made {own['calls']}", row["count"] == own["calls"])
        claim(f"{what}: {row['timed']} of them have kernels", row["timed"] == row["count"])
        if len(names) == 2:
            claim(f"{what}: {name} shares its time", row["shared"] and row["bus_gb_s"] is None)
            continue
        nccl_ns = sum(k["took_ns"] for k in own["kernels"] if k["name"].startswith("nccl"))
        factor, bus = FORMULAS[name]
        algbw = own["calls"] * own["bytes"] * factor / nccl_ns if nccl_ns else float("inf")
        claim(f"{what}: algbw {row['algorithm_gb_s']} GB/s, by torch.profiler {algbw:.3f}",
              near(row["algorithm_gb_s"], algbw))
        claim(f"{what}: busbw {row['bus_gb_s']} GB/s, by torch.profiler {algbw * bus:.3f}",
              near(row["bus_gb_s"], algbw * bus))
        expected = overlap(own["kernels"])
        claim(f"{what}: overlap {row['overlap']}, by torch.profiler {expected:.3f}",
              row["overlap"] is not None and abs(row["overlap"] - expected) <= 0.02)
