"""Compares the stacks of a recording's allocations with the frames that Python itself reported.

compare.py DUMPED EXPECTED DEPTH [merged|both]

DUMPED: lines of `gpuprof dump --json --native --kind alloc`; EXPECTED has the last 20,000 at most. `merged`: the native
frames must be there, and a run of Python frames stands inward of each frame of the interpreter's loop, nowhere else.
`both`: the same, where native frames may end at the innermost loop.
"""
import json
import sys

LOOP = "_PyEval_EvalFrameDefault"


def callers(stack):
    """Native functions without those inlined into them, Python frames as None."""
    kept = []
    for k, frame in enumerate(stack):
        if "address" not in frame:
            kept.append(None)
        elif k + 1 == len(stack) or stack[k + 1].get("address") != frame["address"]:
            kept.append(frame["function"] or "")
    return kept


def has_loops(stack):
    return any((frame["function"] or "").startswith(LOOP) for frame in stack)


def has_all_names(stack):
    """In a stripped interpreter parts of the loop have no name: the frame of a run that was cut is ambiguous."""
    loops = {frame["module"] for frame in stack if (frame["function"] or "").startswith(LOOP)}
    return all(frame["function"] for frame in stack if "address" in frame and frame["module"] in loops)


def misplaced(stack, is_cut):
    names = callers(stack)
    if is_cut:
        # up to the loop of the last Python frame, or up to the last native frame
        last = max(k for k, name in enumerate(names) if name is None)
        if last + 1 < len(names):
            names = names[: last + 2]
        while names and names[-1] is None:
            names.pop()
    for k, name in enumerate(names):
        is_loop = name is not None and name.startswith(LOOP)
        follows_python = k > 0 and names[k - 1] is None
        if name is not None and is_loop != follows_python:
            return names
    return None if names and names[-1] is not None else names


dumped = [json.loads(line) for line in open(sys.argv[1])]
said = json.load(open(sys.argv[2]))
if len(said) >= 20000:
    dumped = dumped[-len(said) :]
depth = int(sys.argv[3])
is_merged = len(sys.argv) > 4
is_both = sys.argv[4:] == ["both"]
if not dumped or (len(said) < 20000 and len(said) != len(dumped)):
    sys.exit("%d allocations recorded, %d said" % (len(dumped), len(said)))
named = deep = 0
for event, frames in zip(dumped, said[-len(dumped) :]):
    stack = event.get("stack")
    if stack is None:
        sys.exit("no stack at %s" % event)
    got = [[f["function"], f["file"], f["line"]] for f in stack if "address" not in f]
    if got != frames[:depth]:
        sys.exit("at %d ns\n got  %s\n said %s" % (event["at_ns"], got, frames[:depth]))
    if not is_merged:
        continue
    if len(got) == len(stack):
        sys.exit("no native frame at %d ns" % event["at_ns"])
    # an interpreter without symbols has no names
    if has_loops(stack):
        is_cut = is_both or len(frames) > depth or len([name for name in callers(stack) if name is not None]) >= depth
        if is_cut and not has_all_names(stack):
            continue
        named += 1
        deep += len(frames) >= 10
        wrong = misplaced(stack, is_cut)
        if wrong:
            sys.exit("at %d ns Python stands at the wrong frames: %s" % (event["at_ns"], wrong))
text = "%d stacks, %d of them different" % (len(said), len({json.dumps(s) for s in said}))
print(text + (", %d merged by name, %d of them deep" % (named, deep) if is_merged else ""))
