"""Compares the modules of a recording with those that a twin with hooks on all modules saw.

judge_modules.py --name NAME --gpuprof PROGRAM --recording FILE --job JSON --twin JSON

JSON: as module_jobs.py writes it. Both runs must have as many allocations; the n-th of one is then the n-th of
the other. With torch.compile, this holds from `first` on, and blocks of modules without frames count for the module
that Python called. Of blocks in a node of autograd (--backward-modules), PyTorch makes some beside the node's own work:
these may have no module, but none may have another one.
"""
import argparse
import bisect
import collections
import json
import subprocess
import sys

SHARE = 99  # percent of the blocks of forwards that have the right name
NODES = 80  # percent of the blocks in nodes that have a name at all

p = argparse.ArgumentParser(description=__doc__)
for option in ("name", "gpuprof", "recording", "job", "twin"):
    p.add_argument("--" + option, required=True)
args = p.parse_args()


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} {args.name}: {what}: {figures}", flush=True)
    return holds


def lines(*words):
    done = subprocess.run([args.gpuprof, *words, args.recording], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"FAIL {args.name}: gpuprof {' '.join(words)} ends with {done.returncode}: {done.stderr.strip()[:300]}")
        sys.exit(1)
    return done.stdout


with open(args.job) as job, open(args.twin) as twin:
    job, twin = json.load(job), json.load(twin)
blocks = [json.loads(line) for line in lines("dump", "--json", "--no-stacks", "--kind", "block_alloc").splitlines()]
counts = [len(blocks) - job["first"], *(run["allocations"] - run["first"] for run in (job, twin))]
if not claim("the recording, the job and its twin have as many allocations", len(set(counts)) == 1 and counts[0] > 0,
             f"{counts}, after {job['first']} and {twin['first']} that are not compared"):
    sys.exit(1)
blocks = blocks[job["first"]:]
after = [n - twin["first"] for n, *_ in twin["changes"]]
wrong, forward, beyond = collections.Counter(), 0, 0
in_nodes, named, named_wrong = 0, 0, collections.Counter()
sums = collections.Counter()
for number, block in enumerate(blocks):
    at = bisect.bisect_right(after, number)
    expected, is_node = twin["changes"][at - 1][1:] if at else (None, False)
    got = block.get("torch_module")
    sums[got if is_node else expected] += block["bytes"]
    if is_node:
        in_nodes += 1
        named += got is not None
        if got not in (None, expected):
            named_wrong[expected, got] += 1
        continue
    if expected is None:
        beyond += got is not None
        continue
    forward += 1
    if got != expected:
        wrong[expected, got] += 1
right = forward - sum(wrong.values())
claim(f"{SHARE}% of the blocks of forwards have the name that named_modules() gives",
      forward > 0 and right * 100 >= SHARE * forward,
      f"{right} of {forward}; wrong: {wrong.most_common(3)}")
claim("blocks outside of forwards have no module", beyond * 100 <= len(blocks) - forward, f"{beyond} have one")
if twin["first"]:
    claim("modules in compiled regions had no Python frames; blocks there count for the module that was called",
          len(twin["inlined"]) > 0, f"{len(twin['inlined'])} modules, as {twin['inlined'][:2]}")
    sys.exit()
if args.name.endswith("_backward"):
    claim(f"{NODES}% of the blocks in nodes have a module", in_nodes > 0 and named * 100 >= NODES * in_nodes,
          f"{named} of {in_nodes}")
    claim(f"{SHARE}% of these have the one whose forward made the node",
          sum(named_wrong.values()) * 100 <= (100 - SHARE) * named,
          f"{sum(named_wrong.values())} of {named} wrong: {named_wrong.most_common(3)}")
top = json.loads(lines("top", "--json", "--no-stacks", "--top", "0", "--by", "module"))
groups = [g for c in top["curves"] if c["of"] == "allocated" for g in c["groups"]]
near = sum(abs(g["bytes"] - sums.get(g["key"], 0)) for g in groups if g["class"])
claim("top --by module adds up what each module requested", near * 100 <= sum(sums.values()),
      f"{near} of {sum(sums.values())} bytes differ")
