"""Compares stacks of --stacks=both with those of --stacks=all, of the same allocations.

judge_both.py ALL BOTH MINOR

ALL, BOTH: lines of `gpuprof dump --json --native --kind alloc`. A stack of `both` is that of `all`, or its native frames
end at the innermost interpreter loop and its caller. That is so on the main thread, since CPython 3.11.
"""
import json
import sys

LOOP = "_PyEval_EvalFrameDefault"


def chains(event):
    """Native frames without those inlined into them, and Python frames, each innermost first."""
    stack = event["stack"]
    addresses = [f.get("address") for f in stack] + [None]
    native = [(f["module"], f["function"]) for k, f in enumerate(stack) if f.get("address") not in (None, addresses[k + 1])]
    python = [(f["function"], f["file"], f["line"]) for f in stack if "address" not in f]
    return native, python


whole, both = ([json.loads(line) for line in open(name)] for name in sys.argv[1:3])
minor = int(sys.argv[3])
main = whole[0]["thread"]
cut = 0
ends = {}  # for each thread's Python stack with all native frames, the stacks of `both`
if len(whole) != len(both):
    sys.exit("%d allocations with all, %d with both" % (len(whole), len(both)))
for a, b in zip(whole, both):
    (native, python), (less, python_less) = chains(a), chains(b)
    if python != python_less:
        sys.exit("at %d ns other Python frames: %s, with all %s" % (b["at_ns"], python_less, python))
    # regardless of earlier stacks: a place has one stack
    if ends.setdefault((a["thread"], str(python), str(native)), less) != less:
        sys.exit("at %d ns %d native frames, before %d" % (b["at_ns"], len(less), len(ends[a["thread"], str(python), str(native)])))
    if less == native:
        continue
    if minor < 11 or a["thread"] != main:
        sys.exit("at %d ns %d native frames of %d" % (b["at_ns"], len(less), len(native)))
    if less != native[: len(less)]:
        sys.exit("at %d ns other native frames: %s, with all %s" % (b["at_ns"], less, native))
    names = [function or "" for _, function in less]
    if any(names) and [name.startswith(LOOP) for name in names] != [k == len(names) - 2 for k in range(len(names))]:
        sys.exit("at %d ns native frames do not end after the first loop: %s" % (b["at_ns"], names))
    cut += 1
if (cut > 0) != (minor >= 11):
    sys.exit("%d of %d stacks end at Python" % (cut, len(both)))
print("%d stacks, %d of them end at Python" % (len(both), cut))
