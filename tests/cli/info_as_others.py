"""Holds the front page of `info --json` against `peak`, `oom` and `leaks`, over all recordings of a directory."""
import json
import os
import subprocess
import sys


def read(command, path):
    return json.loads(subprocess.run(["gpuprof", command, "--json", path], capture_output=True, text=True).stdout)


def differences(path):
    info = read("info", path)
    peak, oom, leaks = (read(command, path) for command in ("peak", "oom", "leaks"))
    curves = [[d[k] for k in ("device", "of", "peak_bytes", "peak_at_ns", "at_least")] for d in peak["curves"]]
    keys = {(g["key"], g["bytes"]) for d in peak["curves"] for g in d["groups"]}
    moments = [o["at_ns"] for o in oom["ooms"]]
    compared = {
        "peaks": ([list(p.values()) for p in info["peaks"]], curves),
        "holders": ([h for h in info["holders"] if (h["key"], h["bytes"]) not in keys], []),
        "ooms": (info["ooms"], {"count": len(moments), "overwritten": 0, "first_ns": min(moments, default=None)}),
        "leaks": (info["leaks"], {k: leaks[k] for k in ("verdict", "answer")}),
        "steps": ({k: info["steps"][k] for k in leaks["steps"]}, leaks["steps"]),
    }
    return [f"{path}: {what}: {a} is not {b}" for what, (a, b) in compared.items() if a != b]


names = sorted(name for name in os.listdir(sys.argv[1]) if name.endswith(".gpr"))
for name in names:
    print(*differences(os.path.join(sys.argv[1], name)), sep="\n", end="")
print("compared", len(names) > 30)
