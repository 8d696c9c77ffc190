"""Compares the data of a page of `gpuprof report` with what PyTorch counted in the job.

judge_report.py --name JOB --gpuprof PROGRAM --recording FILE --page HTML --peaks JSON [--snapshots JSON]: the peaks of
the page's curves are those of report_job.py, to the byte. With snapshots (snapshot_jobs.py), the page's segments and
allocated blocks at the moment of each have the same addresses and sizes.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import page_documents

BLOCK, SEGMENT, UNMAPPED = 0, 1, 4


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("name", "gpuprof", "recording", "page", "peaks"):
        p.add_argument(f"--{option}", required=True)
    p.add_argument("--snapshots")
    return p.parse_args()


def claim(name, holds, what):
    print(f"{'PASS' if holds else 'FAIL'} report-{name}: {what}", flush=True)
    return not holds


class Lives:
    """The lives of device 0."""

    def __init__(self, header, data):
        self.rows, self.groups = [], header["groups"]
        for number in header["blocks"]:
            births, spans, sizes, groups, addresses, *_ = page_documents.columns(data[number], 8)
            self.rows += [(birth, birth + span - 1 if span else None, size, group, address)
                          for birth, span, size, group, address in
                          zip(itertools.accumulate(births), spans, sizes, groups, page_documents.sums(addresses))
                          if self.groups["device"][group] == 0]

    def live_at(self, moment, kinds):
        """Address, bytes and group by address."""
        return sorted((address, size, group) for birth, death, size, group, address in self.rows
                      if self.groups["of"][group] in kinds and birth <= moment and (death is None or moment < death))

    def segments_at(self, moment):
        """Address and bytes. Parts of an expandable segment that touch are one."""
        found, before_is_part = [], 0
        for address, size, group in self.live_at(moment, (SEGMENT, UNMAPPED)):
            is_part = self.groups["is_part"][group]
            if before_is_part and is_part and sum(found[-1]) == address:
                found[-1] = (found[-1][0], found[-1][1] + size)
            else:
                found.append((address, size))
            before_is_part = is_part
        return found

    def blocks_at(self, moment):
        return [(address, size) for address, size, _ in self.live_at(moment, (BLOCK,))]


def snapshot_moments(args):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    done = subprocess.run([args.gpuprof, "dump", "--json", "--kind", "snapshot", args.recording], capture_output=True,
                          text=True, env=plain)
    return [json.loads(line)["at_ns"] for line in done.stdout.splitlines()]


def judge_snapshots(args, lives):
    with open(args.snapshots, encoding="utf-8") as file:
        taken = json.load(file)
    moments = snapshot_moments(args)
    segments = blocks = pending = 0
    wrong = []
    for number, (snapshot, at_ns) in enumerate(zip(taken, moments)):
        theirs = sorted((s["address"], s["total_size"]) for s in snapshot["segments"])
        states = [(b["state"], b["address"], b["size"]) for s in snapshot["segments"] for b in s["blocks"]]
        allocated = sorted((address, size) for state, address, size in states if state == "active_allocated")
        segments += len(theirs)
        blocks += len(allocated)
        pending += sum(state == "active_pending_free" for state, *_ in states)
        for what, truth, found in (("segment", theirs, lives.segments_at(at_ns)),
                                   ("block", allocated, lives.blocks_at(at_ns))):
            wrong += [f"snapshot {number}: {what} {address:#x} of {size} bytes is only "
                      f"{'of PyTorch' if (address, size) in truth else 'on the page'}"
                      for address, size in sorted(set(truth) ^ set(found))]
    for line in wrong[:12]:
        print(f"     {line}")
    return claim(args.name, not wrong and blocks and len(moments) == len(taken),
                 f"{len(taken)} snapshots, {len(moments)} recorded, {segments} segments and {blocks} allocated blocks "
                 f"({pending} pending): the page has {len(wrong)} differences")


def main():
    args = parse()
    _, report, data = page_documents.read(args.page)
    header = json.loads(report)["recordings"][0]["lives"]
    with open(args.peaks, encoding="utf-8") as file:
        theirs = json.load(file)
    ours = {curve["curve"]: max(page_documents.highest_values(data[curve["data"]]), default=0)
            for curve in header["curves"] if curve["device"] == 0}
    failed = claim(args.name, all(ours.get(of) == theirs[of] for of in theirs), "; ".join(
        f"{of}: page {ours.get(of)} B, PyTorch {theirs[of]} B" for of in theirs))
    if args.snapshots:
        failed |= judge_snapshots(args, Lives(header, data))
    return failed


if __name__ == "__main__":
    sys.exit(main())
