"""Holds GPU time against torch.profiler in the same process: judge_gpu_time.py GPUPROF DIRECTORY NAME WINDOW.

DIRECTORY has NAME.gpr, and NAME.json and NAME.bare.json of gpu_time_jobs.py with and without gpuprof. WINDOW has the
steps in which gpuprof collected, "A-B" or "always".
"""
import collections
import json
import pathlib
import subprocess
import sys

STEPS = 12
# torch.profiler and gpuprof each convert a begin and an end from the processor's counter, by their own fits of its
# rate
ROUNDING_NS = 2
RATE = 1e-6
gpuprof, directory, name, window = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
recording = directory / f"{name}.gpr"


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} gpu-time-{name}: {what}")


def report(*words):
    return json.loads(subprocess.run([gpuprof, *words, recording], check=True, stdout=subprocess.PIPE).stdout)


def profiles(kind):
    return json.loads((directory / f"{name}.{kind}").read_text(encoding="utf-8"))


def dumped():
    """Our operations by correlation id: their durations."""
    lines = subprocess.run([gpuprof, "dump", "--json", "--bare", "--kind", "gpu_kernel,gpu_copy", recording], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    events = [json.loads(line) for line in lines.splitlines()]
    by_id = collections.defaultdict(list)
    for event in events:
        by_id[event["launch"] & 0xffffffff].append(event)
    return by_id


def union_ns(spans):
    busy, end = 0, None
    for begin, over in sorted(spans):
        if end is None or begin > end:
            busy, end = busy + over - begin, over
        elif over > end:
            busy, end = busy + over - end, over
    return busy


with_us, bare = profiles("json"), profiles("bare.json")
counts = [len(p["operations"]) for p in with_us], [len(p["operations"]) for p in bare]
claim(f"torch.profiler has {counts[0]} operations, bare {counts[1]}", counts[0] == counts[1] and min(counts[0]) > 0)

# PyTorch's watchdog of NCCL queries events as often as it gets to run
POLLED = {"cudaEventQuery", "cudaThreadExchangeStreamCaptureMode"}
# which calls there are, such as of cudaStreamIsCapturing, can differ by a few from run to run
host = [collections.Counter(call["name"] for p in run for call in p["calls"] if call["name"] not in POLLED)
        for run in (with_us, bare)]
lacks, has_more = host[1] - host[0], host[0] - host[1]
claim(f"torch.profiler has {sum(host[0].values())} calls, bare {sum(host[1].values())}; "
      f"lacks {dict(lacks)}, has more {dict(has_more)}", sum(lacks.values()) == 0 < sum(host[0].values()))

ours = dumped()
info = report("kernels", "--json")
join = info["join"]
total = info["total_count"] + info["copies"]["count"] + info["sets"]["count"]
claim(f"nothing was dropped or lost ({join})", join["dropped"] == join["lost"] == 0)
a_step = counts[1][0] / max(1, len(bare[0]["steps"]))
first, last = (1, STEPS) if window == "always" else (int(word) for word in window.split("-"))
if window != "always":
    expected = a_step * (last - first + 1)
    claim(f"{total} operations in steps {window}, bare {expected:.0f}", total == expected)
share = join["joined"] / max(1, total)
claim(f"{100 * share:.1f}% of {total} operations are joined to their launch", share > 0.99)

# each operation of a profile in a step in which we collected is ours, too, with the same duration
missing = differs = seen = furthest = 0
ours_ns = theirs_ns = 0
for p in with_us:
    by_id = collections.defaultdict(list)
    for operation in p["operations"]:
        by_id[operation["correlation"]].append(operation)
    for number, operations in by_id.items():
        if number not in ours:
            missing += window == "always"
            continue
        seen += len(operations)
        mine = sorted(event["took_ns"] for event in ours[number])
        pairs = list(zip(mine, sorted(operation["took_ns"] for operation in operations)))
        off = max(abs(a - b) for a, b in pairs)
        differs += len(mine) != len(operations) or any(abs(a - b) > ROUNDING_NS + RATE * b for a, b in pairs)
        furthest = max(furthest, off)
        ours_ns += sum(mine)
        theirs_ns += sum(operation["took_ns"] for operation in operations)
claim(f"{missing} operations of torch.profiler are not ours", missing == 0)
claim(f"{differs} of {seen} common operations differ in duration, the others by {furthest} ns at most", differs == 0)
if theirs_ns:
    claim(f"sum {ours_ns / 1e6:.3f} ms, torch.profiler {theirs_ns / 1e6:.3f} ms", abs(ours_ns / theirs_ns - 1) <= 0.01)

# the rule of nsys, applied to the trace: operations whose call began inside the range, from any thread
if window == "always" and len(with_us) == 1 and len(with_us[0]["steps"]) == STEPS:
    trace = with_us[0]
    calls = {call["correlation"]: call["begin_ns"] for call in trace["calls"]}
    expected = [0, 0, 0]
    limit = 0
    for step in trace["steps"]:
        until = step["begin_ns"] + step["took_ns"]
        spans = [(o["begin_ns"], o["begin_ns"] + o["took_ns"]) for o in trace["operations"]
                 if step["begin_ns"] <= calls.get(o["correlation"], -1) <= until]
        if spans:
            expected[0] += max(over for _, over in spans) - min(begin for begin, _ in spans)
            expected[1] += union_ns(spans)
            expected[2] += sum(over - begin for begin, over in spans)
            limit += ROUNDING_NS * len(spans)
    phases = report("phases", "--gpu", "--json")["phases"]
    rows = [row for row in phases if row["name"] == "step"]
    for key, value in zip(("gpu_envelope_ns", "gpu_busy_ns", "gpu_sum_ns"), expected):
        found = sum(row[key] for row in rows)
        claim(f"{key} {found}, by the trace {value}, {found - value:+} ns of {limit} allowed",
              abs(found - value) <= limit)
    whole = info["total_ns"] + info["copies"]["total_ns"] + info["sets"]["total_ns"]
    parts = sum(row["gpu_sum_ns"] or 0 for row in phases)
    claim(f"phases add up to {parts} ns of {whole}", parts == whole)
    stats = report("stats", "-r", "nvtx_gpu_proj_sum", "--format", "json")
    found = sum(row["Total Proj Time (ns)"] for row in stats if row["Range"] == ":step")
    envelope = sum(row["gpu_envelope_ns"] for row in rows)
    claim(f"nvtx_gpu_proj_sum has {found} ns of the steps, phases {envelope}", found == envelope)
