"""Keeps memory in each turn of a loop: layers_until_oom.py WHERE. 100 MiB a turn until memory is
full: forward: turns are layers, one fails. backward: the backward pass after them fails. steps:
each turn has a backward pass, so its memory is a leak. 10 MiB a turn, 60 turns: served: a server's
leak. trained: a backward pass frees it, then allocations go on. kept: a backward pass follows but
does not free it, so it is a leak.
"""
import os
import sys

graph = os.path.join(os.getcwd(), "torch", "autograd", "graph.py")
os.makedirs(os.path.dirname(graph))
open(graph, "w").write("def _engine_run_backward(call):\n    return call()\n")
sys.path.insert(0, os.getcwd())
from torch.autograd.graph import _engine_run_backward as engine  # noqa: E402

from fake_blocks import blocks, cuda  # noqa: E402

MIB = 1 << 20
where = sys.argv[1]
cuda.cuInit(0)
kept = []


def tensor(mib):
    return blocks.allocate(0, mib * MIB)


def keep():
    kept.append(tensor(10 if where in ("served", "trained", "kept") else 100))
    return kept[-1]


def gradients():
    for at in [tensor(mib) for mib in (5, 3, 7)]:
        blocks.release(at)
    return True


def turn():
    for at in [tensor(mib) for mib in (2, 4, 6, 3)]:
        blocks.release(at)
    return keep() and (where != "steps" or engine(gradients))


def free_activations():
    for at in reversed(kept):
        gradients()
        blocks.release(at)
    return True


turns = 0
while (where in ("forward", "steps") or turns < 60) and turn():
    turns += 1
if where == "backward":
    assert not engine(lambda: tensor(4096))
if where in ("trained", "kept"):
    assert engine(free_activations if where == "trained" else gradients)
    assert tensor(9)
