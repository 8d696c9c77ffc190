"""Checks gpuprof's account of a device against the job's own calls of cuMemGetInfo, and against a bare run.

judge_number_line.py --gpuprof PROGRAM --recording FILE --looks FILE --bare FILE --bare-looks FILE
    --planted FILE --planted-looks FILE --async FILE --async-out FILE
"""
import argparse
import json
import os
import subprocess
import sys

import planted_memory

MIB = 1 << 20


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("gpuprof", "recording", "looks", "bare", "bare-looks", "planted", "planted-looks", "async",
                   "async-out"):
        p.add_argument(f"--{option}", required=True)
    return p.parse_args()


def owners(gpuprof, recording, number):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([gpuprof, "frag", "--json", "--at", f"snapshot:{number}", recording], capture_output=True,
                          text=True, env=plain)
    if done.returncode:
        sys.exit(f"FAIL number-line: gpuprof frag --at snapshot:{number}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["devices"][0]


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} number-line: {what}: {figures}", flush=True)
    return not holds


# owners of memory that the job did not request
UNREQUESTED = ("context and earlier processes", "loaded modules", "local memory", "device heap", "graph metadata",
               "driver rounding", "other processes", "unattributed")


def unrequested(said):
    return sum(said.get(name, 0) for name in UNREQUESTED)


def judge_planted(args):
    with open(args.planted_looks) as file:
        looks = {look["what"]: (number, look) for number, look in enumerate(json.load(file))}
    said, failures = {}, 0
    for what, (number, look) in looks.items():
        device = owners(args.gpuprof, args.planted, number)
        said[what] = device["owners"]
        failures += claim(f"planted, {what}: the driver's count is what the job was told",
                          device["driver_used_bytes"] == look["used_bytes"],
                          f"{device['driver_used_bytes']} and {look['used_bytes']}")
        rest = said[what]["unattributed"]
        failures += claim(f"planted, {what}: at most 0.1% of the device is unattributed",
                          abs(rest) <= look["total_bytes"] / 1000, rest)
    local = planted_memory.LOCAL_BYTES * looks["nothing"][1]["threads"]
    for name, before, after, least, most in (
            ("loaded modules", "nothing", "module", 64 * MIB, 96 * MIB),
            ("loaded modules", "module", "other process", 0, 32 * MIB),
            ("local memory", "nothing", "module", 0, 0),
            ("local memory", "module", "local memory", local // 2, 2 * local),
            ("other processes", "nothing", "local memory", -16 * MIB, 16 * MIB),
            ("other processes", "local memory", "other process", 256 * MIB, 2048 * MIB),
            ("other processes", "nothing", "end of the other process", -16 * MIB, 16 * MIB)):
        grown = said[after].get(name, 0) - said[before].get(name, 0)
        failures += claim(f"planted: from '{before}' to '{after}' {name} grows as planted", least <= grown <= most,
                          f"{grown} bytes, expected {least} to {most}")
    return failures


def judge_async(args):
    with open(args.async_out) as file:
        peak = int(file.read().split("peak ")[1])
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([args.gpuprof, "timeline", "--json", getattr(args, "async")], capture_output=True, text=True,
                          env=plain, check=True)
    ours = json.loads(done.stdout)["devices"][0]["allocated_peak_bytes"]
    return claim("cudaMallocAsync: the allocated peak is torch.cuda.max_memory_allocated", ours == peak,
                 f"{ours} and {peak}")


def main():
    args = parse()
    with open(args.looks) as file:
        looks = json.load(file)
    with open(args.bare_looks) as file:
        bare_looks = json.load(file)
    failures, rest = 0, []
    for number, look in enumerate(looks):
        device = owners(args.gpuprof, args.recording, number)
        said, used = device["owners"], device["driver_used_bytes"]
        failures += claim(f"{look['what']}: at most 0.1% of the device is unattributed",
                          abs(said["unattributed"]) <= look["total_bytes"] / 1000, said["unattributed"])
        if not look["what"].startswith(("step", "emptied")):
            continue  # meanwhile modules load: the driver takes memory without a request and counts it at once
        failures += claim(f"{look['what']}: that is what the job was told", used == look["used_bytes"],
                          f"{used} and {look['used_bytes']}")
        rest.append(unrequested(said))
    failures += claim("NCCL, cuBLAS and PyTorch are owners", {"NCCL", "cuBLAS", "PyTorch"} <= said.keys(), said)
    failures += claim("what nobody asked for is constant over the steps, within 32 MiB", max(rest) - min(rest) <= 32 * MIB,
                      f"{min(rest)} to {max(rest)} bytes")
    bare = unrequested(owners(args.gpuprof, args.bare, len(bare_looks) - 1)["owners"])
    failures += claim("it is that of a bare context with the same modules, within 64 MiB", abs(max(rest) - bare) <= 64 * MIB,
                      f"{max(rest)} and {bare} bytes")
    failures += judge_planted(args) + judge_async(args)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
