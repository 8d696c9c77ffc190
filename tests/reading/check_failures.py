"""Damaged recordings, wrong calls, closed recordings and threads: check_failures.py RECORDING FOLDER.

Works in FOLDER. Each failure must be an exception of its class; a crash ends this program by a signal.
"""
import os
import sys
import threading

import gpuprof

path, folder = sys.argv[1:]
with open(path, "rb") as file:
    content = file.read()
failures = []


def expect(what, is_so):
    if not is_so:
        failures.append(what)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    return None


def write(name, data):
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data)
    return out.name


def read_all(file):
    """All calls; only gpuprof.Error may come out. True: a failure or a note shows the damage."""
    noted = False
    try:
        with gpuprof.open(file) as r:
            noted = not r.info.is_complete or r.info.is_damaged or bool(r.info.damages)
            for call in (r.events, r.peaks, r.steps, r.kernels, r.curves, r.roles, lambda: list(r.batches(rows=100)),
                         r.live, lambda: r.live("peak", roles=True), lambda: r.live(5000)):
                noted = raises(gpuprof.Error, call) is not None or noted
            for row in r.events(["block_alloc"])[:20]:
                r.stack(row.stack, row.at_ns)
    except gpuprof.Error as error:
        expect("an error of %s names its file" % file, error.file == file)
        noted = True
    return noted


# files
missing = raises(gpuprof.Error, lambda: gpuprof.open(os.path.join(folder, "none.gpr")))
expect("a missing file", missing and missing.status == gpuprof.Status.E_OPEN and "none.gpr" in str(missing))
expect("a folder", raises(gpuprof.Error, lambda: gpuprof.open(folder)))
other = raises(gpuprof.Error, lambda: gpuprof.open(write("text.gpr", b"a text\n" * 1000)))
expect("another file", other and other.status == gpuprof.Status.E_NOT_RECORDING)
short = raises(gpuprof.Error, lambda: gpuprof.open(write("short.gpr", content[:1000])))
expect("a short file", short and short.status == gpuprof.Status.E_TRUNCATED)
newer = raises(gpuprof.Error, lambda: gpuprof.open(write("newer.gpr", content[:8] + b"\xff" + content[9:])))
expect("a newer file", newer and newer.place and newer.place.what)
for tenths in (3, 6):
    expect("a file torn at %d tenths" % tenths, read_all(write("torn.gpr", content[:len(content) * tenths // 10])))
for place in range(4200, len(content), len(content) // 8):
    read_all(write("flipped.gpr", content[:place] + b"damaged!" + content[place + 8:]))
middle = len(content) // 2
expect("a damaged block", read_all(write("flipped.gpr", content[:middle] + b"damaged!" * 8 + content[middle + 64:])))

# wrong calls
r = gpuprof.open(path)
for what, kind, call in (
        ("a device", ValueError, lambda: r.roles(device=64)), ("a moment", ValueError, lambda: r.live("noon")),
        ("a curve", ValueError, lambda: r.live("peak", curve="x")), ("a key", ValueError, lambda: r.kernels(by="x")),
        ("a curve of a peak", ValueError, lambda: r.peak(curve="x")), ("a kind", KeyError, lambda: r.events(["x"])),
        ("a number of points", ValueError, lambda: r.curves(points=1)), ("how", ValueError, lambda: r.stack(1, 0, "x")),
        ("a number of rows", ValueError, lambda: next(r.batches(rows=0)))):
    expect("wrong: " + what, raises(kind, call))
expect("an unknown stack", r.stack(2**32 - 1, 0) is None)
expect("a device without memory", len(r.curves(device=63)) == 0 and r.peak(device=63) is None)

# another call moves the recording of a batch
batches = r.batches(rows=10)
next(batches)
r.live("end")
moved = raises(gpuprof.Error, lambda: next(batches))
expect("a moved recording", moved and moved.status == gpuprof.Status.E_BUSY)

# stacks need no replay before them
rows = r.events(["block_alloc", "alloc"])
stacks = {(row.stack, row.at_ns) for row in rows if row.stack}
frames = {key: r.stack(*key) for key in sorted(stacks)[-20:]}
with gpuprof.open(path) as fresh:
    expect("stacks of a recording that was just opened", all(fresh.stack(*key) == frames[key] for key in frames))

# two recordings at once, and two threads with one: results as alone
expected, results = (bytes(r.events()), r.peaks(), bytes(r.live("end").rows)), []


def work(recording):
    for _ in range(5):
        results.append((bytes(recording.events()), recording.peaks(), bytes(recording.live("end").rows)))


second = gpuprof.open(path)
threads = [threading.Thread(target=work, args=(recording,)) for recording in (r, r, second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect("threads", len(results) == 15 and all(result == expected for result in results))


def read_closed(recording):
    with recording:
        return recording.steps()


# closed
kept = r.live("end").rows
steps = r.batches(rows=10)
next(steps)
r.close()
r.close()
for what, call in (("info", lambda: r.info), ("events", r.events), ("live", r.live), ("next", lambda: next(steps)),
                   ("stack", lambda: r.stack(1, 0)), ("peak", r.peak), ("with", lambda: read_closed(r))):
    expect("closed: " + what, raises(ValueError, call))
expect("a table outlives its recording", bytes(kept) == expected[2])

for failure in failures:
    print("failed: " + failure)
sys.exit(bool(failures))
