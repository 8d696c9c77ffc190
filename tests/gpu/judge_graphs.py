"""Compares `gpuprof graphs --json` with the figures of graph_jobs.py: judge_graphs.py GPUPROF FOLDER WHAT.

Prints a PASS or FAIL line for each claim. With PyTorch, the bytes of each private pool equal its own snapshot.
"""
import json
import os
import subprocess
import sys

gpuprof, folder, what = sys.argv[1:4]
environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
recording = os.path.join(folder, f"graphs_{what}.gpr")
with open(os.path.join(folder, f"graphs_{what}.json"), encoding="utf-8") as file:
    known = json.load(file)
report = json.loads(subprocess.run([gpuprof, "graphs", "--json", recording], env=environment, check=True,
                                   stdout=subprocess.PIPE, text=True).stdout)
graphs = sorted(report["graphs"], key=lambda graph: graph["at_ns"])


def claim(text, found, expected):
    is_same = found == expected
    print("PASS" if is_same else "FAIL", f"graphs-{what}: {text}" + ("" if is_same else f": {found}, not {expected}"))


def broken():
    claim("ten captures failed, each with its call and function",
          [[f["call"].removesuffix("_ptsz"), f["stack"][0]["function"].split(".")[-1]] for f in report["failed"]], known)
    claim("each failure has an error of a capture and a line",
          [f for f in report["failed"] if not f["error"] or not f["line"] or not f["ended"]], [])
    claim("no graph was made", len(graphs), 0)


def clean():
    claim("no capture failed", report["failed"], [])
    claim("nodes as the driver counts them", [graph["nodes"]["all"] for graph in graphs], known)
    claim("all nodes are certain", [graph["partial"] for graph in graphs], [False] * len(known))
    claim("each was launched once", [graph["launches"] for graph in graphs], [1] * len(known))
    claim("memory of allocation nodes", [graph["node_bytes"] for graph in graphs], [0] * 4 + [1 << 20])
    claim("calls that launch have a duration", [graph["untimed"] for graph in graphs], [0] * len(known))


def layout():
    claim("no capture failed", report["failed"], [])
    theirs = {key: size for key, size in known["pools"].items() if key != "0.0"}
    ours = {".".join(map(str, pool["pool"])): pool["bytes"] for pool in report["pools"] if pool["bytes"]}
    claim(f"bytes of {len(theirs)} private pools equal PyTorch's snapshot", ours, theirs)
    with_pool = [graph for graph in graphs if graph["pool"]]
    if known["graphs"] is None:
        claim("the graphs of the forward and the backward have a pool", len(with_pool) >= 2, True)
        claim("each with the bytes of its pool", [graph["pool_bytes"] for graph in with_pool],
              [theirs.get(".".join(map(str, graph["pool"]))) for graph in with_pool])
    else:
        claim("the pool of each graph", [graph["pool"] for graph in graphs], [g["pool"] for g in known["graphs"]])
        claim("its bytes", [graph["pool_bytes"] for graph in graphs],
              [theirs[".".join(map(str, g["pool"]))] for g in known["graphs"]])
        claim("its kernels", [graph["nodes"]["kernel"] for graph in graphs], [g["kernels"] for g in known["graphs"]])
        claim("its replays", [graph["launches"] for graph in graphs], [g["replays"] for g in known["graphs"]])
    other = sum(size for key, size in theirs.items() if list(map(int, key.split("."))) not in
                [graph["pool"] for graph in with_pool])
    claim("pools beside it", max((graph["other_pool_bytes"] for graph in graphs), default=0), other)
    if known["reserved"]:
        print(f"PASS graphs-{what}: reserved_bytes_by_private_pools, for comparison: {known['reserved']}")


{"broken": broken, "clean": clean}.get(what, layout)()
