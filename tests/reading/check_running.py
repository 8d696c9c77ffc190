"""Reads a recording whose job runs: check_running.py BUILD FOLDER.

A recording has what was written when it was opened. Opened again, it has what the job recorded meanwhile.
"""
import os
import subprocess
import sys

import gpuprof

JOB = """
import ctypes, sys
cuda, p = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
for line in sys.stdin:
    for _ in range(int(line)):
        cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096))
    print("done", flush=True)
"""
build, path = sys.argv[1], os.path.join(sys.argv[2], "running.gpr")
environment = dict(os.environ, LD_LIBRARY_PATH=build + "/fake", LD_PRELOAD=build + "/libgpuprof.so", GPUPROF_OUTPUT=path,
                   GPUPROF_STACKS="off", GPUPROF_RING_DIR=sys.argv[2])


def allocate(job, count):
    job.stdin.write("%d\n" % count)
    job.stdin.flush()
    assert job.stdout.readline() == "done\n"


def live(recording, at):
    return sum(row.bytes == 4096 for row in recording.live(at).rows)


def opened_with(count):
    """The recording once the recorder has written so many allocations."""
    while True:
        recording = gpuprof.open(path)
        found = live(recording, "end")
        assert found <= count, f"{found} of {count} allocations are live"
        if found == count:
            return recording
        recording.close()


with subprocess.Popen([sys.executable, "-c", JOB], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      text=True) as job:
    allocate(job, 3)
    first = opened_with(3)
    assert first.info.is_running
    between = first.info.duration_ns
    found = [live(first, "end"), live(first, 0), live(first, between)]
    assert found == [3, 0, 3], found
    allocate(job, 2)
    with opened_with(5) as second:
        found = [live(second, "end"), live(second, between), live(second, "end")]
        assert second.info.is_running and found == [5, 3, 5], found
    found = [live(first, between), live(first, "end")]
    assert found == [3, 3], found
    first.close()
    job.stdin.close()
with gpuprof.open(path) as whole:
    assert not whole.info.is_running
    found = [live(whole, "end"), live(whole, between), live(whole, "end")]
    assert found == [5, 3, 5], found
