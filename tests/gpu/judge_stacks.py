"""Checks the stacks of a recording against those of PyTorch's own history of the same allocations.

Python and native frames are compared separately. PyTorch puts one Python frame for each C frame of the
interpreter and the rest at the end, so its order between the two languages means little. Both sides name
native frames by exported symbols at most. Where only one side has a name, only the place is compared.
"""
import argparse
import collections
import json
import re
import subprocess
import sys

from judge_recording import Judge, ask, judge_health, judge_torch

# The allocator's own frames and each recorder's: both stacks begin there, at different functions.
INNERMOST = re.compile(r"CachingAllocator|CapturedTraceback|torch::unwind|torch::cuda::|reportMemoryUsage|gather|c10::cuda|\?\?|^$")
DEPTH = 64
NODE = re.compile(r"^torch::autograd::.*(Backward\w*|AccumulateGrad)::apply$")
USERS_FILE = re.compile(r"/(gpt_train|both_histories)\.py$")


def is_python_file(name):
    return name.endswith(".py") or name.startswith("<")


def dumped(gpuprof, recording):
    """Each block allocation of the recording, in order."""
    run = subprocess.Popen([gpuprof, "dump", "--json", "--native", "--kind", "block_alloc", recording],
                           stdout=subprocess.PIPE, text=True)
    for line in run.stdout:
        event = json.loads(line)
        if event.get("kind") == "block_alloc":
            yield event
    if run.wait() != 0:
        sys.exit(f"FAIL stacks: gpuprof dump: exit {run.returncode}")


def parts_of(event):
    python, native = [], []
    for frame in event.get("stack") or []:
        if frame.get("module") is None:
            python.append((frame["function"], frame["file"], frame["line"]))
        elif not frame.get("inlined"):
            native.append(frame["function"] or "")
    return python, native


def torchs_parts(frames):
    python = [(name, file, line) for name, file, line in frames if is_python_file(file)]
    native = [name for name, file, line in frames if not is_python_file(file)]
    return python, native


def last_name(qualified):
    return qualified.rsplit(".", 1)[-1]


def same_python(ours, theirs):
    return [(last_name(f), file, line) for f, file, line in ours] == \
        [(last_name(f), file, line) for f, file, line in theirs]


def bare_name(name):
    """Removes what demanglers print differently: parameters, result types, blanks and clone suffixes."""
    name = re.sub(r"\[clone.*?\]", "", name).replace("(anonymous namespace)", "{anonymous}")
    depth, start, end = 0, 0, len(name)
    for i, c in enumerate(name):
        if c == "<":
            depth += 1
        elif c == ">" and name[i - 1] != "-":
            depth -= 1
        elif depth == 0 and c == " " and not name[start:i].endswith("operator"):
            start = i + 1
        elif depth == 0 and c == "(" and i > start and not name[start:i].endswith("operator"):
            end = i
            break
    return re.sub(r"\s+", "", name[start:end])


def is_unknown(name):
    return name in ("", "??") or name.startswith("0x")


def same_native(ours, theirs):
    """From the outermost frame inwards, up to the allocator. (is_same, named pairs, why)"""
    a, b, named = ours[::-1], theirs[::-1], 0
    for i in range(min(len(a), len(b))):
        if is_unknown(a[i]) or is_unknown(b[i]):
            continue
        if bare_name(a[i]) != bare_name(b[i]):
            break
        named += 1
    else:
        i = min(len(a), len(b))
    rest = a[i:], b[i:]
    if all(INNERMOST.search(name) for side in rest for name in side) and max(map(len, rest)) <= 16:
        return True, named, ""
    return False, named, f"{len(a)} and {len(b)} frames; {len(a) - i} from the inside: {rest[0][:2]} or {rest[1][:2]}"


def compare(judge, events, history):
    allocs = history["allocs"]
    judge.equal("allocations in both histories", len(events), len(allocs))
    count, examples = collections.Counter(), {}
    for event, other in zip(events, allocs):
        ours, theirs = parts_of(event), torchs_parts(other["frames"])
        count["address differs"] += int(event["address"], 16) != other["address"]
        count["Python frames compared"] += len(theirs[0])
        is_same = same_python(ours[0], theirs[0])
        count["Python stacks that differ"] += not is_same
        if not is_same:
            examples.setdefault("Python", (ours[0][:4], theirs[0][:4], len(ours[0]), len(theirs[0])))
        if len(ours[1]) >= DEPTH:  # the outermost frames cannot be compared
            count["native stacks cut and not compared"] += 1
            continue
        is_same, named, why = same_native(ours[1], theirs[1])
        count["native frames compared by name"] += named
        count["native stacks that differ"] += not is_same
        if not is_same:
            examples.setdefault("native", why)
    for language, example in examples.items():
        print(f"     {judge.name}: first {language} difference: {example}")
    compared = ", ".join(f"{v} {k}" for k, v in sorted(count.items()) if "compared" in k)
    judge.equal("addresses that differ", count["address differs"], 0)
    judge.equal(f"Python stacks that differ ({compared})", count["Python stacks that differ"], 0)
    judge.equal("native stacks that differ", count["native stacks that differ"], 0)


def judge_culprits(judge, events):
    """Each allocation has a Python frame, a node or the engine, which reduces gradients after a node returned."""
    count = collections.Counter()
    for event in events:
        python, native = parts_of(event)
        is_node = any(NODE.search(name) for name in native)
        is_engine = any(name.startswith("torch::autograd::Engine::evaluate_function") for name in native)
        count["without native frames"] += not native
        count["without Python frames, autograd node or engine"] += not python and not is_node and not is_engine
        count["with both Python frames and a node"] += bool(python) and is_node
        if python:
            count["with Python"] += 1
            count["without the user's line"] += not any(USERS_FILE.search(f[1]) for f in python)
        else:
            count["node" if is_node else "engine"] += 1
    for what in ("without native frames", "without Python frames, autograd node or engine", "without the user's line"):
        judge.equal(f"block allocations {what}", count[what], 0)
    judge.claim("allocations of forward and backward", count["with Python"] > 0 and count["node"] > 0,
                f"{count['with Python']} with Python frames, {count['node']} named by their autograd node, "
                f"{count['engine']} made by the engine after a node")


def judge_peak(judge, said, peaks):
    for truth in peaks["devices"]:
        of = [d for d in said["curves"] if d["device"] == truth["device"] and d["of"] == "allocated"]
        judge.equal("live bytes at the allocated peak", of[0]["live_bytes"] if of else None,
                    truth["allocated_peak_bytes"])
        explained = sum(g["bytes"] for d in of for g in d["groups"] if g["stack"])
        judge.equal("of them explained by stacks", explained, truth["allocated_peak_bytes"])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--gpuprof", required=True)
    p.add_argument("--recording", required=True)
    p.add_argument("--history", required=True)
    p.add_argument("--peaks", required=True)
    args = p.parse_args()
    judge = Judge("stacks")
    info = ask("stacks", args.gpuprof, "info", args.recording)
    judge_health(judge, info)
    with open(args.peaks) as f:
        peaks = json.load(f)
    judge_torch(judge, info, ask("stacks", args.gpuprof, "timeline", args.recording), peaks)
    events = list(dumped(args.gpuprof, args.recording))
    judge_culprits(judge, events)
    with open(args.history) as f:
        history = json.load(f)
    compare(judge, events[history["start"]:], history)
    judge_peak(judge, ask("stacks", args.gpuprof, "peak", args.recording), peaks)
    print(f"     stacks: {json.dumps(info.get('stacks'))}")
    return judge.failures > 0


if __name__ == "__main__":
    sys.exit(main())
