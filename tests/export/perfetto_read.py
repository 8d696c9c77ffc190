"""Reads a Perfetto trace by the numbers of its .proto files. Shares no code with the writer."""

# message: field -> (key, kind); kind: a message, int, str, fixed; a list: repeated
SCHEMA = {
    "trace": {1: ("packet", ["packet"])},
    "packet": {
        6: ("clocks", "clocks"),
        8: ("timestamp", int),
        10: ("sequence", int),
        11: ("event", "event"),
        12: ("interned", "interned"),
        13: ("flags", int),
        60: ("track", "track"),
        98: ("machine", int),
    },
    "clocks": {1: ("clock", ["clock"])},
    "clock": {1: ("id", int), 2: ("timestamp", int)},
    "track": {
        1: ("uuid", int),
        2: ("name", str),
        3: ("process", "process"),
        4: ("thread", "thread"),
        5: ("parent", int),
        8: ("counter", "counter"),
    },
    "process": {1: ("pid", int), 2: ("command", str), 6: ("name", str)},
    "thread": {1: ("pid", int), 2: ("tid", int), 5: ("name", str)},
    "counter": {3: ("unit", int), 7: ("share_key", str)},
    "event": {
        3: ("category", int),
        4: ("notes", ["note"]),
        9: ("type", int),
        10: ("name", int),
        23: ("name", str),
        11: ("track", int),
        30: ("value", int),
        47: ("flow", "fixed"),
        48: ("flow_end", "fixed"),
        56: ("stack", int),
        57: ("weight", int),
    },
    "note": {1: ("name", int), 3: ("value", int), 6: ("value", str), 7: ("value", int)},
    "interned": {
        1: ("categories", ["text"]),
        2: ("names", ["text"]),
        3: ("notes", ["text"]),
        5: ("functions", ["text"]),
        6: ("frames", ["frame"]),
        7: ("stacks", ["stack"]),
        18: ("files", ["text"]),
    },
    "text": {1: ("iid", int), 2: ("text", str)},
    "frame": {1: ("iid", int), 2: ("function", int), 5: ("file", int), 6: ("line", int)},
    "stack": {1: ("iid", int), 2: ("frames", [int])},
}


def number(data, at):
    value = data[at]
    at += 1
    if value < 128:
        return value, at
    value &= 127
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def decode(data, at, end, message):
    """Every field must be known, once unless repeated, and end where its message ends."""
    fields, out = SCHEMA[message], {}
    while at < end:
        tag, at = number(data, at)
        assert tag >> 3 in fields, (message, tag >> 3)
        key, kind = fields[tag >> 3]
        wire = tag & 7
        one = kind[0] if isinstance(kind, list) else kind
        if wire == 0:
            assert one is int, (message, key, wire)
            value, at = number(data, at)
        elif wire == 1:
            assert one == "fixed", (message, key, wire)
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            assert wire == 2 and one is not int, (message, key, wire)
            size, at = number(data, at)
            assert at + size <= end, (message, key, "too long")
            if one is str:
                value = data[at : at + size].decode()
            else:
                value = decode(data, at, at + size, one)
            at += size
        if one is not kind:
            out.setdefault(key, []).append(value)
        else:
            assert key not in out, (message, key, "twice")
            out[key] = value
    assert at == end, (message, "ends elsewhere")
    return out


class Sequence:
    """The interned data of a packet sequence."""

    def __init__(self):
        self.tables = {}

    def add(self, interned):
        for table, entries in interned.items():
            known = self.tables.setdefault(table, {})
            for entry in entries:
                assert entry["iid"] not in known, (table, entry, "interned twice")
                known[entry["iid"]] = entry

    def text(self, table, iid):
        return self.tables[table][iid]["text"]

    def frames(self, iid):
        """(function, file, line), innermost first, as dump prints them."""
        found = []
        for frame in reversed(self.tables["stacks"][iid]["frames"]):
            entry = self.tables["frames"][frame]
            path = self.text("files", entry["file"]) if "file" in entry else None
            found.append((self.text("functions", entry["function"]), path, entry.get("line")))
        return found


def read(path):
    """Returns tracks by uuid, and events with their texts instead of iids, in file order."""
    with open(path, "rb") as file:
        data = file.read()
    tracks, sequences, events = {}, {}, []
    at = 0
    while at < len(data):
        assert data[at] == 0x0A, "not a packet"
        size, at = number(data, at + 1)
        packet = decode(data, at, at + size, "packet")
        at += size
        key = packet["sequence"]
        if packet["flags"] & 1:
            sequences[key] = Sequence()
        sequence = sequences[key]
        if "interned" in packet:
            sequence.add(packet["interned"])
        if "track" in packet:
            track = packet["track"]
            assert track["uuid"] not in tracks, (track, "described twice")
            assert "parent" not in track or track["parent"] in tracks, (track, "no parent")
            track["machine"] = packet.get("machine", 0)
            tracks[track["uuid"]] = track
        if "event" in packet:
            event = packet["event"]
            event["at"] = packet["timestamp"]
            event["track"] = tracks[event["track"]]
            if "category" in event:
                event["category"] = sequence.text("categories", event["category"])
            if isinstance(event.get("name"), int):
                event["name"] = sequence.text("names", event["name"])
            if "stack" in event:
                event["stack"] = sequence.frames(event["stack"])
            for note in event.pop("notes", []):
                event["note " + sequence.text("notes", note["name"])] = note.get("value")
            events.append(event)
    return tracks, events
