"""Holds `gpuprof waits` of a job of wait_jobs.py against what was planted: judge_waits.py GPUPROF DIRECTORY.

For each job NAME, DIRECTORY has NAME.gpr, and NAME.json of torch.profiler from the same run where it was profiled.
Gaps of recordings with GPU time are exact. The profile begins after the job's own warm-up, and takes milliseconds to
begin: the report of a profiled run is on the steps after that.
"""
import json
import pathlib
import subprocess
import sys

KINDS = {"item": "item", "pageable": "pageable_copy", "pageable_behind": "pageable_copy", "free": "free",
         "loader": "data", "recompile": "recompile"}
# The GPU runs out of work in the sleep, which is not recorded. The next launch after it is the planted copy, so that
# part of the gap is a late launch of the same line, and has no cause: only the line and the idle time are certain.
LATE = ("pageable_behind",)
CLEAN = ("clean_async", "clean_pinned", "clean_read_rarely", "clean_event", "clean_workers")
WARM_UP = 5  # steps before the profile, as in wait_jobs.py
COSTLY = 0.01  # of the time, as in tools/cmd_waits.c
ATTRIBUTED = 0.95  # of the lost time
TOLERANCE = 0.01  # of the time: the profile has a step more


def planted_line(name):
    """Of the function that is the job, the line with the comment."""
    is_inside = False
    source = pathlib.Path(__file__).with_name("wait_jobs.py").read_text(encoding="utf-8")
    for number, line in enumerate(source.split("\n"), 1):
        if line.startswith("def "):
            is_inside = line.startswith(f"def {name}(")
        if is_inside and line.endswith("# planted"):
            return number
    raise ValueError(f"no planted line in {name}")


def waits_of(gpuprof, path, is_profiled):
    interval = ["--from", f"step:{WARM_UP + 1}"] if is_profiled else []
    return json.loads(subprocess.run([gpuprof, "waits", "--json", "--no-stacks", *interval, path], check=True,
                                     stdout=subprocess.PIPE).stdout)


def idle_share(trace):
    """Time without any GPU operation, of the time from the first to the last."""
    events = json.loads(pathlib.Path(trace).read_text(encoding="utf-8"))["traceEvents"]
    spans = sorted((float(e["ts"]), float(e["ts"]) + float(e["dur"])) for e in events
                   if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    busy, end = 0.0, spans[0][0]
    for begin, over in spans:
        busy += max(0.0, over - max(begin, end))
        end = max(end, over)
    return 1 - busy / (end - spans[0][0])


def claim(name, what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} waits-{name}: {what}")


def judge_exact(name, found, idle):
    wall = found["to_ns"] - found["from_ns"]
    ours = found["idle_ns"] / wall
    claim(name, f"idle {100 * ours:.1f}% of the time, torch.profiler {100 * idle:.1f}%", abs(ours - idle) <= TOLERANCE)
    by_kind = {}
    for row in found["waits"]:
        by_kind[row["kind"]] = by_kind.get(row["kind"], 0) + row["lost_ns"]
    if name in LATE:
        return
    share = sum(ns for kind, ns in by_kind.items() if kind != "other") / max(1, found["lost_ns"])
    shares = {kind: f"{100 * ns / max(1, found['lost_ns']):.1f}%" for kind, ns in by_kind.items()}
    claim(name, f"{100 * share:.1f}% of the lost time has a cause: {shares}, "
                f"{found['pending_ns'] / 1e6:.2f} ms before work that was launched earlier", share >= ATTRIBUTED)


def judge(gpuprof, directory, name):
    trace = directory / f"{name}.json"
    found = waits_of(gpuprof, directory / f"{name}.gpr", trace.exists())
    if directory.name == "exact":
        claim(name, "GPU time is recorded", found["has_gpu_time"])
    wall = found["to_ns"] - found["from_ns"]
    share = found["repeated_lost_ns"] / wall
    rows = found["waits"]
    if name in CLEAN:
        claim(name, f"no costly wait: {100 * share:.2f}% of {wall / 1e6:.0f} ms, {found['steps']} steps",
              share < COSTLY)
        return
    first = rows[0] if rows else {"kind": None, "file": "", "line": None}
    place = (first["kind"], pathlib.Path(first["file"] or "").name, first["line"])
    line = planted_line(name)
    claim(name, f"the costliest wait is {place}, planted was ({KINDS[name]!r}, 'wait_jobs.py', {line})",
          place[1:] == ("wait_jobs.py", line) and place[0] in (KINDS[name], *(["other"] if name in LATE else [])))
    claim(name, f"it costs {100 * share:.1f}% of {wall / 1e6:.0f} ms, {first.get('per_step') or 0:.2f} times a step",
          share >= COSTLY)
    if trace.exists():
        idle = idle_share(trace)
        all_lost = found["lost_ns"] / wall
        if found["has_gpu_time"]:
            judge_exact(name, found, idle)
            return
        claim(name, f"a lower bound of the idle time that torch.profiler shows: {100 * all_lost:.1f}% of the time, "
                    f"truly {100 * idle:.1f}%", all_lost <= idle + TOLERANCE)


def main():
    gpuprof, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    for name in [*KINDS, *CLEAN]:
        if (directory / f"{name}.gpr").exists():
            judge(gpuprof, directory, name)


if __name__ == "__main__":
    main()
