"""A job whose request fails between gaps: held_beside_gap.py HELD REQUESTED PIECES.

Freeing one block of HELD MiB would serve REQUESTED. Of PIECES
blocks of 5 MiB, every second one is free."""
import ctypes
import sys

MIB = 1 << 20
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Allocator(ctypes.Structure):  # the first fields of tests/fake/fake_c10.h
    _fields_ = [
        ("use_expandable_segments", ctypes.c_void_p),
        ("allocate", ALLOCATE),
        ("release", RELEASE),
    ]


held, asked, pieces = map(int, sys.argv[1:])
c10 = Allocator.in_dll(ctypes.CDLL("libc10.so"), "fake_c10")


def tensor(mib):
    return c10.allocate(0, mib * MIB)


def keep():
    return tensor(held)


ballast = tensor(8192 - (held + 60) - 50 - 5 * pieces)
for at in [tensor(5) for _ in range(pieces)][::2]:
    c10.release(at)
c10.release(tensor(held + 60))
kept, gap = keep(), tensor(60)
c10.release(gap)
assert ballast and kept and not tensor(asked)
