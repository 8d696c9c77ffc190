"""Checks gpuprof's account of a device against the job's own calls of cuMemGetInfo, and against a bare run.

judge_number_line.py --gpuprof PROGRAM --recording FILE --looks FILE --bare FILE --bare-looks FILE
"""
import argparse
import json
import os
import subprocess
import sys

MIB = 1 << 20


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("gpuprof", "recording", "looks", "bare", "bare-looks"):
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
        failures += claim(f"{look['what']}: owners add up to what the driver counts", sum(said.values()) == used, used)
        if not look["what"].startswith(("step", "emptied")):
            continue  # meanwhile modules load: the driver takes memory without a request and counts it at once
        failures += claim(f"{look['what']}: that is what the job was told", used == look["used_bytes"],
                          f"{used} and {look['used_bytes']}")
        rest.append(said["unattributed"])
    failures += claim("NCCL, cuBLAS and PyTorch are owners", {"NCCL", "cuBLAS", "PyTorch"} <= said.keys(), said)
    failures += claim("what nobody asked for is constant over the steps, within 32 MiB", max(rest) - min(rest) <= 32 * MIB,
                      f"{min(rest)} to {max(rest)} bytes")
    bare = owners(args.gpuprof, args.bare, len(bare_looks) - 1)["owners"]["unattributed"]
    failures += claim("it is that of a bare context with the same modules, within 64 MiB", abs(max(rest) - bare) <= 64 * MIB,
                      f"{max(rest)} and {bare} bytes")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
