# Loads the library of this directory for the scripts beside it, and compares a walk with sys._getframe().
import ctypes
import sys
import threading

free = ctypes.CDLL(sys.argv[1])  # the GIL is released in calls
held = ctypes.PyDLL(sys.argv[1])  # and kept in these
free.witness_why_off.restype = free.witness_loops.restype = ctypes.c_char_p
free.witness_walk.restype = held.witness_walk_held.restype = ctypes.c_size_t
free.witness_walk.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint]
free.witness_memo_hits.restype = ctypes.c_uint64
held.witness_walk_held.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.POINTER(ctypes.c_long)]
held.witness_lines.argtypes = [ctypes.py_object, ctypes.c_long, ctypes.c_long]
held.witness_lines.restype = ctypes.c_long
free.witness_walk_holding.argtypes = [ctypes.c_long]
free.witness_walk_holding.restype = ctypes.c_long
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

NO_INTERPRETER, NO_THREAD_STATE, NO_FRAMES, FINALIZING, OFF = 2, 3, 4, 5, 6
ROOM = 1 << 20


def why_off():
    why = free.witness_why_off()
    return why.decode() if why else None


def find():
    assert free.witness_find() == 1
    assert why_off() is None, why_off()


def text(s):
    # not a valid str: shown as "?"
    return s.encode("utf-8", "surrogatepass") if type(s) is str else b"?"


def of_frame(frame):
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    line = -1 if frame.f_lineno is None else frame.f_lineno
    return text(code.co_filename), text(name), code.co_firstlineno, line, frame.f_lasti


def of_walk(out):
    rows = []
    for row in out.split(b"\n")[:-1]:
        file, name, first, line, offset = row.rsplit(b"\t", 4)[0:5]
        rows.append((file, name, int(first), int(line), int(offset)))
    return rows


class Tally(threading.local):
    """Counts of one thread; `all` has the sums over all threads."""

    all = []

    def __init__(self):
        self.out = ctypes.create_string_buffer(ROOM)
        self.counts = {"checks": 0, "frames": 0, "deepest": 0}
        self.kinds = {}
        self.is_inside = False
        Tally.all.append((self.counts, self.kinds))


tally = Tally()
wrong = []
situations = []
truth = sys._getframe


def situation(f):
    situations.append(f)
    return f


def compare(kind, size, frame, line, offset, mine):
    """Compares the walk in mine.out with the frame, as it was then, and its callers; offset None: unknown."""
    rows = of_walk(mine.out.raw[:size])
    expected = []
    walk_on = frame
    while walk_on is not None:
        expected.append(of_frame(walk_on))
        walk_on = walk_on.f_back
    if expected and rows:
        expected[0] = expected[0][:3] + (line, rows[0][4] if offset is None else offset)
    mine.counts["checks"] += 1
    mine.counts["frames"] += len(expected)
    mine.counts["deepest"] = max(mine.counts["deepest"], len(expected))
    mine.kinds[kind] = mine.kinds.get(kind, 0) + 1
    if rows == expected:
        return
    at = next((k for k, (a, b) in enumerate(zip(rows, expected)) if a != b), min(len(rows), len(expected)))
    wrong.append((kind, at, len(rows), len(expected), rows[at : at + 2], expected[at : at + 2]))


def check(kind):
    """Walks twice: without the GIL, and with it, where also the leaf's offset can be compared; counts loops."""
    mine = tally
    if mine.is_inside:  # a trace function, a signal or a destructor between the walk and its comparison
        return
    mine.is_inside = True
    try:
        out, offset = mine.out, ctypes.c_long(0)
        # the walk and the query for its line must be on one line
        size = free.witness_walk(out, ROOM, 2000); line = truth().f_lineno
        compare(kind, size, truth(), line, None, mine)
        size = held.witness_walk_held(out, ROOM, 2000, offset); line = truth().f_lineno
        compare(kind, size, truth(), line, offset.value, mine)
        loops = free.witness_loops()
        if loops:
            wrong.append((kind, "loops", loops))
    finally:
        mine.is_inside = False


def finish(name, least):
    total = sum(c["checks"] for c, _ in Tally.all)
    frames = sum(c["frames"] for c, _ in Tally.all)
    kinds = set(k for _, kinds in Tally.all for k in kinds)
    for w in wrong[:5]:
        print("wrong", *w)
    hits = free.witness_memo_hits()
    print("%s: %d walks, %d frames, deepest %d, %d kinds, %d wrong, %d found in the memo" % (
        name, total, frames, max(c["deepest"] for c, _ in Tally.all), len(kinds), len(wrong), hits))
    if total < least:
        print("fewer walks than", least)
    if hits < total:
        print("fewer were found in the memo than walked")
    sys.exit(1 if wrong or total < least or hits < total or why_off() else 0)
