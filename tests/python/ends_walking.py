# Walks that are under way when the interpreter ends, and threads that walk without pause.  ends_walking.py LIBRARY
import sys, threading

from witness import free, why_off

assert free.witness_find_gated() == 1


def deeper(n, function, *arguments):
    if n:
        return deeper(n - 1, function, *arguments)
    function(*arguments)


def walker(depth, *call):
    threading.Thread(target=deeper, args=(depth, *call), daemon=True).start()


class Slow:
    """An object with a destructor, so that the end takes a while."""

    def __init__(self, n):
        self.me, self.rest = self, [bytearray(100) for _ in range(n)]

    def __del__(self):
        self.rest = None


kept = [Slow(50) for _ in range(400)]
for k in range(3):
    walker(k * 9, free.witness_walk_for_ever)
while free.witness_walks() < 3000:
    pass
gates = free.witness_gates()
for gate in range(1, gates + 1):
    walker(gate * 3, free.witness_walk_over_end, gate)
free.witness_await_stopped(gates)
sys.exit(1 if why_off() else 0)
