"""stats_recount.py RECORDING: calculates sums of `gpuprof stats` again from rows of a trace."""
import csv
import statistics
import subprocess
import sys


def stats(report):
    text = subprocess.run(["gpuprof", "stats", "-r", report, "-f", "csv", sys.argv[1]],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(csv.DictReader(text.splitlines()))


def figures(values):
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    real = (statistics.mean(values), statistics.median(values), deviation)
    return [f"{x:.1f}" for x in real] + [str(min(values)), str(max(values))]


def compare(report, samples, total, name, before=""):
    """`samples`: {name: values of a row of the report}. Sums have most first."""
    rows, unit = stats(report), total[total.index("("):]
    wrong = sum(int(b[total]) > int(a[total]) for a, b in zip(rows, rows[1:]))
    for row in rows:
        values = samples.pop(row[name])
        heads = [f"{before}{head} {unit}" for head in ("Avg", "Med", "StdDev", "Min", "Max")]
        count = row.get("Instances") or row.get("Count") or row["Range Instances"]
        wrong += [row[head] for head in heads] != figures(values)
        wrong += int(row[total]) != sum(values) or int(count) != len(values)
    rows = "some" if rows else "no"
    print(f"{report}: {rows} rows, {wrong} wrong, {len(samples)} missing")


def grouped(rows, name, value):
    out = {}
    for row in rows:
        out.setdefault(row[name], []).append(int(row[value]))
    return out


trace, ranges = stats("cuda_gpu_trace"), stats("nvtx_gpu_proj_trace")
kernels = grouped([row for row in trace if row["GrdX"]], "Name", "Duration (ns)")
copies = grouped([row for row in trace if not row["GrdX"]], "Name", "Duration (ns)")
projected = grouped(ranges, "Name", "Projected Duration (ns)")
compare("cuda_gpu_kern_sum", kernels, "Total Time (ns)", "Name")
compare("cuda_gpu_mem_time_sum", copies, "Total Time (ns)", "Operation")
compare("nvtx_gpu_proj_sum", projected, "Total Proj Time (ns)", "Range", "Proj ")
sums = stats("nvtx_gpu_proj_sum")
MEANS = {"Avg GPU Ops": "NumGPUOps", "Avg Range Lvl": "Lvl", "Avg Num Child": "NumChild"}
for head, of in MEANS.items():
    means = {name: statistics.mean(n) for name, n in grouped(ranges, "Name", of).items()}
    print(f"{head}:", all(row[head] == f"{means[row['Range']]:.1f}" for row in sums))
