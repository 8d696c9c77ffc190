"""Runs another job of this folder, then writes PyTorch's own peaks: report_job.py OUT SCRIPT [ARGUMENT...]

OUT gets max_memory_allocated() and max_memory_reserved() of device 0. The job must not reset them.
"""
import json
import os
import runpy
import sys

out, script, *arguments = sys.argv[1:]
sys.argv = [script, *arguments]
try:
    runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), script), run_name="__main__")
except SystemExit as end:
    if end.code:
        raise

import torch

torch.cuda.synchronize()
with open(out, "w", encoding="utf-8") as file:
    json.dump({"allocated": torch.cuda.max_memory_allocated(0), "reserved": torch.cuda.max_memory_reserved(0)}, file)
