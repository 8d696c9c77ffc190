"""Measures `gpuprof watch` beside a job of some 200,000 events a second: watch_cost.py BUILD [RUNS [STEPS]]

Prints for each run the share of a processor that watch took, from its second line to the last but one, and
the time and processor time of the job without and with it. The runs alternate."""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
RUNS, STEPS = (int(word) for word in (sys.argv[2:] + ["3", "1800"][len(sys.argv) - 2 :]))
GPUPROF, SLEEP_MS = BUILD + "/gpuprof", "12"
JOB = [GPUPROF, "run", "-q", "-o", "job.gpr", "--", BUILD + "/victims/training_loop", str(STEPS), SLEEP_MS]


def used_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def follow(job):
    """Shares of a processor and events a second, until the job ends."""
    while not os.path.exists("job.gpr"):
        time.sleep(0.1)
    watch = subprocess.Popen([GPUPROF, "watch", "--json", "job.gpr"], stdout=subprocess.PIPE, text=True)
    points = []
    for line in watch.stdout:
        state = json.loads(line)
        if state["running"]:
            points.append((time.monotonic(), used_s(watch.pid), state["events"]))
    watch.wait()
    (begin, used, events), (end, used_then, events_then) = points[1], points[-1]
    return (used_then - used) / (end - begin), (events_then - events) / (end - begin)


def run(with_watch):
    environment = {**os.environ, "LD_LIBRARY_PATH": BUILD + "/fake"}
    begin = time.monotonic()
    job = subprocess.Popen(JOB, env=environment, stdout=subprocess.DEVNULL)
    shares = follow(job) if with_watch else None
    usage = os.wait4(job.pid, 0)[2]
    os.remove("job.gpr")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, shares


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    for k in range(RUNS):
        bare, watched = run(False), run(True)
        print(f"run {k + 1}: watch {watched[2][0]:.2%} of a processor at {watched[2][1]:,.0f} events/s;"
              f" job {bare[0]:.2f} s, {bare[1]:.2f} s of a processor; with watch {watched[0]:.2f} s,"
              f" {watched[1]:.2f} s", flush=True)
