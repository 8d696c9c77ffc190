"""
A job under the preload whose request to the driver fails. meet_oom.py look: reads its own recording
at once, while the disk is slow. meet_oom.py die: repeats the request, as frameworks do, and is
killed. meet_oom.py late: the same in a thread whose ring does not fit beside the others.
"""
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading

RINGS_BYTES = 65536 + 2 * (4096 + 32768 * 64)  # two of them: the recorder's own, the main thread's

if sys.argv[1] == "late":
    resource.setrlimit(resource.RLIMIT_FSIZE, (RINGS_BYTES, RINGS_BYTES))
cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(address), 0, 0) == 0
recording = os.environ["GPUPROF_OUTPUT"]


def refused(size):
    return cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0


def look():
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    command = ["gpuprof", "oom", "--json", recording]
    found = subprocess.run(command, env=plain, capture_output=True, text=True)
    return [o["bytes"] for o in json.loads(found.stdout)["ooms"]]


def die():
    cuda.cuCtxSetCurrent(context)
    assert refused(1 << 50) and refused(1 << 51)
    os.kill(os.getpid(), signal.SIGKILL)


context = ctypes.c_void_p(address.value)
if sys.argv[1] == "die":
    die()
if sys.argv[1] == "late":
    late = threading.Thread(target=die)
    late.start()
    late.join()
assert not refused(1 << 20)
for size in 1 << 50, 1 << 51, 1 << 52:
    open(os.environ["SLOW_WHILE"], "w").close()
    assert refused(size)
    print(look())
    os.unlink(os.environ["SLOW_WHILE"])
