"""Bytes of pinned memory as timeline, peak and top tell them, and leaks of its stack, which are all it is made of but 4 bytes."""
import json
import subprocess
import sys


def ask(*words):
    return json.loads(subprocess.run(["gpuprof", *words, "--json", sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)


def leaks_of_host(found):
    """Every object of the report that is a leak of that kind."""
    if isinstance(found, list):
        return [leak for part in found for leak in leaks_of_host(part)]
    if not isinstance(found, dict):
        return []
    return [found["live_bytes"]] if found.get("kind") == "host" else leaks_of_host(list(found.values()))


host = ask("timeline")["host"]
(peak,) = ask("peak", "--of", "pinned")["curves"]
(top,) = ask("top", "--of", "pinned")["curves"]
print("timeline", host["pinned_peak_bytes"], "at", host["pinned_peak_at_ns"], "last", host["points"][-1][1])
print("peak", peak["device"], peak["peak_bytes"], "at", peak["peak_at_ns"], [g["bytes"] for g in peak["groups"]])
print("top", top["device"], top["bytes"], "live", top["live_bytes"], [g["live_bytes"] for g in top["groups"]])
leaks = ask("leaks")
print("leaks", leaks_of_host(leaks), [live["bytes"] for live in leaks["live"] if live["of"] == "pinned"])
