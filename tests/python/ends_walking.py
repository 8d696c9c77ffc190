# Daemon threads that walk without pause while the interpreter ends.  ends_walking.py LIBRARY
import sys, threading

from witness import find, free, why_off

find()


def deeper(n):
    if n:
        return deeper(n - 1)
    free.witness_walk_for_ever()


class Slow:
    """Something to tear down, so that the end takes a while."""

    def __init__(self, n):
        self.me, self.rest = self, [bytearray(100) for _ in range(n)]

    def __del__(self):
        self.rest = None


kept = [Slow(50) for _ in range(400)]
threads = [threading.Thread(target=deeper, args=(k * 9,), daemon=True) for k in range(3)]
for t in threads:
    t.start()
while free.witness_walks() < 3000:
    pass
sys.exit(1 if why_off() else 0)
