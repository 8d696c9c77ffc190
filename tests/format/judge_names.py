"""judge_names.py FRAMES DUMP: checks each native frame in `dump --json --native` against
golden_names."""
import json
import sys

table = {}  # the frames at an address, innermost first
for row in map(json.loads, open(sys.argv[1])):
    table.setdefault((row["module"], row["offset"]), []).append(row["frame"])
events = [json.loads(line) for line in open(sys.argv[2])]
places = [(e["text"].split(" ", 1)[1], e["base"], e["bytes"]) for e in events if e["kind"] == "module" and e.get("text")]
number = lambda value: int(value, 16) if isinstance(value, str) else value
compared = set()
for event in events:
    native = [frame for frame in event.get("stack") or [] if "address" in frame and frame["module"]]
    while native:
        address, module = number(native[0]["address"]), native[0]["module"]
        rows = [table.get((module, address - number(base))) for path, base, size in places
                if path == module and 0 < address - number(base) <= size]
        rows = [row for row in rows if row]
        if not rows:
            sys.exit("no row for %s" % native[0])
        told = rows[0]
        shown = [[f["function"], f["file"], f["line"] or 0] for f in native[:len(told)]]
        if shown != told or any(number(f["address"]) != address for f in native[:len(told)]):
            sys.exit("%s is shown as %s" % (told, shown))
        compared.add((module, address))
        native = native[len(told):]
if len(compared) < 10 or not any(frame[1] for row in table.values() for frame in row):
    sys.exit("only %d frames" % len(compared))
print("%d of %d rows were shown so" % (len(compared), len(table)))
