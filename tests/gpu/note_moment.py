"""Moments of a job, for judge_moments.py: each has a time, and what the job reads from cuMemGetInfo.

Without MOMENTS_OUT, note() does nothing. With it, the import waits for the end of a line on stdin. So jobs import
PyTorch at once, and use the device one after another. Import it after PyTorch and before the first call of CUDA.
"""
import json
import os
import sys
import time

import torch

OUT = os.environ.get("MOMENTS_OUT")
APART_S = 0.01  # before and after a moment nothing changes, so that clocks may differ a little
if OUT and not sys.stdin.readline():
    raise SystemExit("no turn to use the device")


def note():
    if not OUT:
        return
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    time.sleep(APART_S)
    with open(OUT, "a", encoding="utf-8") as out:
        print(json.dumps({"unix_ns": time.time_ns(), "free": free, "total": total}), file=out)
    time.sleep(APART_S)
