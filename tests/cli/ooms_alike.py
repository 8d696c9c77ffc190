"""Counts of OOMs by timeline, info, oom, diff, check and frag, over the recordings that are named."""
import json
import re
import subprocess
import sys


def read(*words):
    return subprocess.run(["gpuprof", *words], capture_output=True, text=True).stdout


def ask(*words):
    return json.loads(read(words[0], "--json", *words[1:]))


def counts(path):
    oom, timeline = ask("oom", path), ask("timeline", path)
    last = ["--at", f"oom:{len(oom['ooms'])}"] if oom["ooms"] else []
    diff = [d.get("ooms", [0])[0] for d in ask("diff", path, path)["devices"]]
    check = re.findall(r": (\d+) OOM", read("check", "--min-headroom", "0%", path))
    frag = re.findall(r"^OOMs +(\d+)", read("frag", "--summary", *last, path), re.M)
    return {
        "oom": len(oom["ooms"]),
        "info": ask("info", path)["ooms"]["count"],
        "timeline": sum(len(d["ooms"]) for d in timeline["devices"]),
        "diff": sum(diff),
        "check": sum(map(int, check)),
        "frag": sum(map(int, frag)),
    }, sorted(o["at_ns"] for d in timeline["devices"] for o in d["ooms"]) == [o["at_ns"] for o in oom["ooms"]], {
        "oom": oom["failed_cuda_calls"],
        "timeline": sum(d["failed_cuda_calls"] for d in timeline["devices"]),
    }


for path in sys.argv[1:]:
    ooms, is_same_moment, calls = counts(path)
    print(path.split("/")[-1], ooms, "same moments" if is_same_moment else "OTHER MOMENTS", calls)
