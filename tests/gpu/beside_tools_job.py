"""PyTorch jobs for debuggers and profilers.

beside_tools_job.py bursts [GPUPROF]   three bursts of kernels, each under torch.profiler; after the
                                       first, `GPUPROF ctl` starts recording
beside_tools_job.py later              faulthandler.dump_traceback_later fires during its work
beside_tools_job.py segv               reads address 0 between two backwards
"""
import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile

import torch

KERNELS = 2000


def burst():
    x = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                            torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(KERNELS):
            x.add_(1)
        torch.cuda.synchronize()
    on_gpu = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print(sum("elementwise" in e.name for e in on_gpu), "kernels in the profile", flush=True)


def bursts():
    burst()
    if len(sys.argv) > 2:
        subprocess.run([sys.argv[2], "ctl", str(os.getpid()), "start"], check=True, stdout=subprocess.DEVNULL)
    burst()
    burst()


def work():
    x = torch.ones(256, 256, device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    torch.cuda.synchronize()


def later():
    work()
    with tempfile.TemporaryFile() as log:
        faulthandler.dump_traceback_later(0.2, file=log)
        while not os.fstat(log.fileno()).st_size: work()  # noqa: E701  one line in every traceback
        faulthandler.cancel_dump_traceback_later()
        log.seek(0)
        # the innermost frames depend on the moment
        here = os.path.basename(__file__)
        print(*[line for line in log.read().decode().splitlines() if here in line and " in work" not in line],
              sep="\n", flush=True)


def segv():
    work()
    ctypes.string_at(0)


faulthandler.enable()
{"bursts": bursts, "later": later, "segv": segv}[sys.argv[1]]()
