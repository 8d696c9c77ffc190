"""Runs out of memory, with a helper function between: told_apart.py own|shared|deep.

keep() holds most memory. own: on its own line. shared: on the helper's line, as the request. deep:
the same, through two helpers, and by two lambdas of one line, whose stacks look alike.
"""
import sys

from fake_blocks import blocks, cuda

MIB = 1 << 20
how = sys.argv[1]
cuda.cuInit(0)


def tensor(mib):
    return blocks.allocate(0, mib * MIB)


def empty(mib):
    return tensor(mib)


def spare():
    return empty(500)


def keep():
    if how == "own":
        return blocks.allocate(0, 3000 * MIB)
    return tensor(3000) if how == "shared" else empty(3000)


def ask():
    return empty(4000)


kept = [f() for f in (lambda: keep(), lambda: keep())]
assert spare() and all(kept) and not ask()
