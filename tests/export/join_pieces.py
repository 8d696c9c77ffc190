"""Compares pieces of an export with the whole: join_pieces.py ENTRIES WHOLE PIECE...

Joined, the traces of the pieces are those of the whole; the last piece has its state. No piece has more than
ENTRIES of a device, and there are at least three.
"""
import pickle
import sys


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


most, whole, pieces = int(sys.argv[1]), load(sys.argv[2]), [load(path) for path in sys.argv[3:]]


def plain(entries):
    """In one order: an act that was derived may stand elsewhere in a piece. Handles have addresses of their own."""
    return sorted((e["time_us"], e["action"], e["size"], min(e.get("addr", 0), 1 << 52)) for e in entries)


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


assert state(pieces[-1]) == state(whole), "another state at the end"
assert len(pieces) >= 3, "%d pieces" % len(pieces)
