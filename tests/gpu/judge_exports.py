"""Opens exports of a recording with the readers of others: judge_exports.py GPUPROF RECORDING FOLDER.

RECORDING has GPU time of the whole job. FOLDER has RECORDING as snapshot.pickle and trace.json, exported by gpuprof.
PyTorch's _memory_viz reads the snapshot. HolisticTraceAnalysis reads the trace if HTA names the folder of its source.
"""
import json
import os
import pathlib
import pickle
import subprocess
import sys

gpuprof, recording, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SHARE = 0.001  # HTA's figures may differ by that share: it reads times on another clock


def claim(what, is_so):
    print(f"{'PASS' if is_so else 'FAIL'} exports: {what}")


def report(*words):
    return json.loads(subprocess.run([gpuprof, *words, recording], check=True, stdout=subprocess.PIPE).stdout)


def judge_snapshot():
    from torch.cuda import _memory_viz
    snapshot = pickle.loads((folder / "snapshot.pickle").read_bytes())
    pages = {"segment plot": _memory_viz.segment_plot(snapshot), "trace plot": _memory_viz.trace_plot(snapshot)}
    for name, page in pages.items():
        claim(f"PyTorch's {name} has {len(page):,} characters", "<html" in page)
    texts = {"segsum": _memory_viz.segsum(snapshot), "trace": _memory_viz.trace(snapshot)}
    for name, text in texts.items():
        claim(f"PyTorch's {name} has {len(text):,} characters", len(text) > 0)
    live = sum(b["size"] for s in snapshot["segments"] if s["segment_pool_id"][1] < 1 << 32
               for b in s["blocks"] if b["state"].startswith("active"))
    [ours] = [curve["live_bytes"] for curve in report("peak", "--json", "--no-stacks", "--at", "end")["curves"]
              if curve["of"] == "allocated"]
    claim(f"{live:,} bytes are live in the snapshot, {ours:,} in the recording", live == ours)


def judge_trace():
    if not os.environ.get("HTA"):
        print("SKIP exports: HTA does not name the source of HolisticTraceAnalysis")
        return
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    sys.path.insert(0, os.environ["HTA"])
    from hta.trace_analysis import TraceAnalysis
    # by default it leaves out the last step
    hta = TraceAnalysis(trace_files={0: str(folder / "trace.json")}, trace_dir="/", include_last_profiler_step=True)
    [row] = hta.get_temporal_breakdown(visualize=False).to_dict("records")
    kernels = report("kernels", "--json", "--no-stacks")
    for theirs, ours in (("kernel_time(us)", kernels["envelope_ns"]), ("compute_time(us)", kernels["total_ns"]),
                         ("idle_time(us)", kernels["envelope_ns"] - kernels["busy_ns"])):
        ns = 1000 * row[theirs]
        claim(f"HTA's {theirs} is {ns:,.0f} ns, ours {ours:,} ns", abs(ns - ours) <= SHARE * ours)


judge_snapshot()
judge_trace()
