"""Compares pieces of an export with the whole: join_pieces.py ENTRIES WHOLE PIECE...

Joined, the traces of the pieces are those of the whole, so no entry is there twice; the last piece has its state. Blocks
that are live over a cut are in the states of both pieces. No piece has more than ENTRIES of a device, and there are at least three.
"""
import pickle
import sys


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


HANDLES = 1 << 52
most, whole, pieces = int(sys.argv[1]), load(sys.argv[2]), [load(path) for path in sys.argv[3:]]


def plain(entries):
    """In one order. Handles have addresses of their own in each piece, and acts on them are derived: at other moments."""
    return sorted((e["time_us"] if e.get("addr", 0) < HANDLES else 0, e["action"], e["size"], min(e.get("addr", 0), HANDLES))
                  for e in entries)


for device, trace in enumerate(whole["device_traces"]):
    parts = [piece["device_traces"][device] for piece in pieces]
    assert max(len(part) for part in parts) <= most, "%s entries" % [len(part) for part in parts]
    # each ends with its own snapshot
    assert not trace or all(part[-1]["action"] == "snapshot" for part in parts), "a piece without its snapshot"
    assert plain([entry for part in parts for entry in part[:-1]]) == plain(trace[:-1]), "other entries"
    ends = [part[-1]["time_us"] for part in parts if part]
    assert ends == sorted(ends), "pieces in another order"


def state(snapshot):
    return [(s["device"], min(s["address"], 1 << 52), s["total_size"], [(min(b["address"], 1 << 52), b["size"], b["state"]) for b in s["blocks"]])
            for s in snapshot["segments"]]


def live(piece, device):
    """Requested sizes by address at the end of a piece, without handles."""
    return {b["address"]: b["requested_size"] for s in piece["segments"] if s["device"] == device
            for b in s["blocks"] if b["state"] != "inactive" and b["address"] < HANDLES}


def live_before(piece, device):
    """The same at its begin: its entries are undone, the last first."""
    blocks = live(piece, device)
    for e in reversed(piece["device_traces"][device]):
        if e.get("addr", 0) >= HANDLES:
            continue
        if e["action"] == "alloc":
            assert blocks.pop(e["addr"], None) == e["size"], "the state lacks what %s allocates" % e
        elif e["action"] == "free_completed":
            blocks[e["addr"]] = e["size"]
    return blocks


over = 0
for device in range(len(whole["device_traces"])):
    for before, after in zip(pieces, pieces[1:]):
        assert live(before, device) == live_before(after, device), "other blocks are live over the cut"
        over += len(live(before, device))
assert over > 0, "no block is live over a cut"
assert state(pieces[-1]) == state(whole), "another state at the end"
assert len(pieces) >= 3, "%d pieces" % len(pieces)
