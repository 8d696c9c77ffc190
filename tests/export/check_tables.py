"""Checks `gpuprof export --format sqlite`, csv and nsys-sqlite with Python's own readers:

    check_tables.py GPUPROF MADE_GPU_TIME DATA...

Runs in an empty folder. Compares tables with what other commands print of the same recording, and the figures of the
views with the commands that docs/EXPORTS.md names for them. Prints PASS or FAIL, the name and the reason."""

import collections
import csv
import functools
import io
import itertools
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys

GPUPROF, MADE_GPU_TIME = sys.argv[1:3]
EXPORTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/EXPORTS.md")
CURVES = {
    "allocated": ("block",),
    "reserved": ("segment", "unmapped"),
    "driver": ("segment", "driver"),
}
# kinds that are not events of the job: definitions and checkpoints
NOT_EVENTS = set(
    "gpu kernel stream thread module fact context python_code native_frame python_frame call_stack arena range_name "
    "object_name native_name live curve count range_open gpu_function".split()
)
# of these each event is compared, of the others the number of each kind
WHOLE = "fake-held fake-ranges fake-no_room h200_calls h200_gpt_graph h200_idle h200_jax leak_pinned".split()
wrong = []


def expect(found, expected, *what):
    if found != expected:
        wrong.append("%s: %s, expected: %s" % (" ".join(map(str, what)), str(found)[:300], str(expected)[:300]))


def run(*words, binary=False):
    done = subprocess.run([GPUPROF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3):
        wrong.append("gpuprof %s ends with %d: %s" % (" ".join(words), done.returncode, done.stderr[:200]))
    return done.stdout if binary else done.stdout.decode()


@functools.lru_cache(maxsize=8)
def report(*words):
    return json.loads(run(*words) or "{}")


def export(form, recording, *words):
    path = "x." + form
    if os.path.exists(path):
        os.remove(path)
    run("export", "--format", form, "-o", path, *words, *([recording] if recording else []))
    db = sqlite3.connect(path)
    expect(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], form, "integrity")
    return db


def check_events(db, recording):
    """Each event of `dump`, with its fields."""
    events = collections.Counter()
    for line in run("dump", "--json", "--bare", "--no-stacks", recording).splitlines():
        e = json.loads(line)
        if e["kind"] in NOT_EVENTS:
            continue
        address = e.get("address", e.get("to", e.get("first")))
        took = next((e[k] for k in ("took_ns",) if k in e), None)
        events[
            e["at_ns"], e["order"], e["thread"], e["kind"], e["device"], e["code"], e.get("bytes", e.get("active_bytes")),
            e.get("allocated"), e.get("reserved"), None if address is None else int(address, 16), took, e.get("name"),
        ] += 1
    found = collections.Counter(db.execute(
        "SELECT at_ns, event_order, thread, kind, device, code, bytes, allocated, reserved, address, took_ns, name"
        " FROM events"))
    expect(list((found - events).items())[:2], [], "events that dump lacks")
    expect(list((events - found).items())[:2], [], "events that are missing")


def sweep(db, device, kinds):
    """The highest sum of the lives, from their first and last events alone."""
    change = collections.Counter()
    for born, gone, size in db.execute(
        "SELECT from_order, to_order, bytes FROM blocks WHERE device = ? AND of IN (%s)"
        % ",".join("?" * len(kinds)), (device, *kinds),
    ):
        change[born] += size
        if gone is not None:
            change[gone] -= size
    now = most = 0
    for order in sorted(change):
        now += change[order]
        most = max(most, now)
    return most


def check_peaks(db, recording):
    peak = report("peak", "--json", "--by", "line", "--no-stacks", recording)
    for c in peak["curves"]:
        if c["device"] is None:
            continue
        where = (c["of"], c["device"])
        row = db.execute("SELECT peak_bytes, peak_at_ns, kept_bytes, kept_order FROM peaks WHERE curve = ? AND device = ?",
                         where).fetchone()
        expect(row and row[:2], (c["peak_bytes"], c["peak_at_ns"]), "peak of", *where)
        if not row or c["uncertain_bytes"] or peak["uncertain"] or row[2] is None:
            continue
        expect(sweep(db, c["device"], CURVES[c["of"]]), row[2], "highest sum of lives of", *where)
        if row[2] != c["peak_bytes"] or c["of"] not in CURVES:
            continue
        lines = dict(db.execute(
            "SELECT ifnull(line, ''), sum(bytes) FROM blocks WHERE device = ? AND from_order <= ?"
            " AND (to_order IS NULL OR to_order > ?) AND of IN (%s) GROUP BY 1"
            % ",".join("?" * len(CURVES[c["of"]])), (c["device"], row[3], row[3], *CURVES[c["of"]])))
        expected = {g["key"]: g["bytes"] for g in c["groups"] if g["bytes"]}
        expect(sum(lines.values()), sum(expected.values()), "live bytes at the peak of", *where)
        if not peak["kept_from_ns"] and not c.get("unmapped_bytes"):
            expect(sorted(lines.values()), sorted(expected.values()), "bytes by line at the peak of", *where)
    roles = report("peak", "--json", "--by", "role", "--of", "allocated", "--no-stacks", recording)
    for c in roles["curves"]:
        if c["of"] != "allocated" or c["uncertain_bytes"] or peak["uncertain"]:
            continue
        found = dict(db.execute("SELECT role, bytes FROM peak_by_role WHERE device = ?", (c["device"],)))
        expect(found, {g["key"]: g["bytes"] for g in c["groups"] if g["bytes"]}, "peak_by_role")
    return peak["uncertain"]


def check_holders(db, recording):
    """peak_by_stack and peak_by_range: the curve of their moment, as `peak` groups it."""
    curves = dict(db.execute("SELECT device, curve FROM moments"))
    for view, column, by in (("peak_by_stack", "line", "line"), ("peak_by_range", "range", "range")):
        peak = report("peak", "--json", "--by", by, "--no-stacks", recording)
        for c in peak["curves"]:
            if c["of"] != curves.get(c["device"], "") or c["uncertain_bytes"] or peak["uncertain"] or peak["kept_from_ns"]:
                continue
            rows = db.execute("SELECT %s, sum(bytes), sum(count) FROM %s WHERE device = ? GROUP BY 1" % (column, view),
                              (c["device"],)).fetchall()
            expect(sum(r[1] for r in rows), c["live_bytes"], view, "of", c["of"], c["device"])
            expected = collections.Counter()
            for g in c["groups"]:
                expected[g["key"]] += g["bytes"]
            expect({r[0]: r[1] for r in rows}, {k: n for k, n in expected.items() if n}, view, "by", column)


def check_allocations(db, recording):
    """largest_allocations and never_freed, from single events of `dump`."""
    live, sizes, steps = {}, [], db.execute("SELECT step, begin_ns, end_ns FROM steps").fetchall()
    for line in run("dump", "--json", "--bare", "--no-stacks", "--kind", "block_alloc,block_free", recording).splitlines():
        e = json.loads(line)
        if e["kind"] in ("block_alloc", "block_free"):
            live.pop((e["device"], e["address"]), None)
        if e["kind"] == "block_alloc":
            live[e["device"], e["address"]] = (e["at_ns"], e["bytes"])
            sizes.append(e["bytes"])
    found = [r[0] for r in db.execute("SELECT bytes FROM largest_allocations WHERE of = 'block' LIMIT 20")]
    expect(found, sorted(sizes, reverse=True)[:20], "largest_allocations")
    expected = {s: sum(b for at, b in live.values() if begin <= at < end) for s, begin, end in steps}
    found = dict(db.execute("SELECT step, sum(bytes) FROM never_freed WHERE of = 'block' GROUP BY step"))
    expect(found, {s: b for s, b in expected.items() if b}, "never_freed")


def check_unused(db, recording, uncertain):
    for d in report("timeline", "--json", recording)["devices"]:
        unused = db.execute("SELECT reserved, allocated, at_ns FROM unused_at_peak WHERE device = ?",
                            (d["device"],)).fetchone()
        points = [p for p in d["points"] if unused and p[0] == unused[2]]
        if points and not uncertain and points[-1][3] == unused[1]:
            expect(unused[0], points[-1][2], "unused_at_peak, reserved")


def check_lists(db, recording):
    """The rows of short lists."""
    info = report("info", "--json", recording)
    lost = dict(db.execute("SELECT kind, count FROM losses"))
    for kind, name in (("memory", "lost memory events"), ("launch", "lost launches"), ("other", "lost other events")):
        expect(lost.get(name, 0), info["lost"][kind], name)
    kept = {k: n for k, n in info["events"].items() if n and k not in NOT_EVENTS}
    if not info["kept_from_ns"]:
        expect(dict(db.execute("SELECT kind, count(*) FROM events GROUP BY kind")), kept, "events by kind")
    expect([r[0] for r in db.execute("SELECT from_ns FROM losses WHERE kind = 'gap'")], info["gaps"], "gaps")
    if not db.execute("SELECT 1 FROM events WHERE kind IN ('oom', 'alloc_failed')").fetchone():
        expect(db.execute("SELECT count(*) FROM ooms").fetchone(), (0,), "ooms")
        return
    ooms = report("oom", "--json", recording)
    expect(sorted(db.execute("SELECT at_ns, bytes FROM ooms")),
           sorted((o["at_ns"], o["bytes"]) for o in ooms["ooms"]), "ooms")


def check_steps(db, recording):
    """Allocations of one step, and what of it is never freed, as `top` counts them."""
    steps = db.execute("SELECT step, begin_ns, end_ns FROM steps ORDER BY step").fetchall()
    if len(steps) < 3:
        return
    step, begin, end = steps[1]
    top = report("top", "--json", "--no-stacks", "--from", "%dns" % begin, "--to", "%dns" % (end - 1), recording)
    for c in top["curves"]:
        if c["of"] == "allocated":
            found = db.execute("SELECT bytes, count FROM allocations_by_step WHERE step = ? AND device = ?",
                               (step, c["device"])).fetchone()
            expect(found, (c["bytes"], c["count"]), "allocations_by_step of step", step)


def check_stacks(db, recording):
    """Frames of each event's stack, as `dump` prints them."""
    frames = collections.defaultdict(list)
    for stack, function, path, line, library in db.execute(
        "SELECT s.stack, f.function, f.file, f.line, f.library FROM stack_frames s JOIN frames f USING (recording, frame)"
        " ORDER BY s.stack, s.depth"
    ):
        frames[stack].append((function, path, line, library))
    events = db.execute("SELECT stack FROM events WHERE kind = 'block_alloc' ORDER BY event_order").fetchall()
    dump = [json.loads(l) for l in run("dump", "--json", "--kind", "block_alloc", recording).splitlines()]
    expect(len(events), len(dump), "events with stacks")
    for (stack,), e in zip(events, dump):
        expected = [(f["function"], f["file"], f["line"], f["module"]) for f in e["stack"]]
        if frames[stack] != expected:
            expect(frames[stack], expected, "stack of event", e["order"])
            break


def rows_of_csv(recording, *words):
    return list(csv.reader(io.StringIO(run("export", "--format", "csv", *words, recording), newline="")))


def as_csv(value):
    if isinstance(value, str) and value[:1] and value[0] in "=+-@\t\r":
        return "'" + value
    return "" if value is None else str(value)


def check_csv(db, recording):
    """Each value of the database stands in the CSV file, of every table."""
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in ["blocks"] + tables:
        rows = rows_of_csv(recording, "--select", table)
        cursor = db.execute('SELECT * FROM "%s"' % table)
        expect(rows[0], [c[0] for c in cursor.description], table, "head")
        plain = collections.Counter(tuple(as_csv(v) for v in r) for r in cursor)
        found = collections.Counter(tuple(r) for r in rows[1:])
        expect(list((found - plain))[:1], [], table, "rows of CSV")
        expect(len(rows) - 1, sum(plain.values()), table, "number of rows")
    expect(rows_of_csv(recording)[0], rows_of_csv(recording, "--select", "blocks")[0], "the first selection")


def check_documents(db):
    """docs/EXPORTS.md has each table, view and column."""
    with open(EXPORTS, encoding="utf-8") as text:
        text = text.read()
    for name, kind in db.execute("SELECT name, type FROM sqlite_master").fetchall():
        expect(bool(re.search("`(.* )?%s( .*)?`" % name, text)), True, "docs/EXPORTS.md has", kind, name)
        for column in db.execute('PRAGMA table_info("%s")' % name).fetchall() if kind == "table" else []:
            expect("`%s`" % column[1] in text, True, "docs/EXPORTS.md has column", name, column[1])


def check_hostile(data):
    """A text that a spreadsheet would compute, with quotes, markup, control characters and broken UTF-8."""
    names = [b"=cmd|'a'!A1, \"b\".gpr", b"<script>\xff\n'; DROP TABLE lives;--.gpr", b"@sum.gpr", b"\tx.gpr", b"-1.gpr"]
    for name in names:
        with open(data, "rb") as source, open(os.path.join(b".", name), "wb") as target:
            target.write(source.read())
    db_path = "hostile.db"
    subprocess.run([GPUPROF, "export", "--format", "sqlite", "-o", db_path, "--", *names], stderr=subprocess.PIPE)
    db = sqlite3.connect(db_path)
    expect([r[0] for r in db.execute("SELECT path FROM recordings ORDER BY recording")],
           [n.decode(errors="replace") for n in names], "hostile texts in SQL")
    expect(db.execute("SELECT count(DISTINCT recording) FROM lives").fetchone()[0], len(names), "several recordings")
    done = subprocess.run([GPUPROF, "export", "--format", "csv", "--select", "recordings", "--", *names],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    expect([r[1] for r in rows[1:]],
           ["'=cmd|'a'!A1, \"b\".gpr", "<script>\ufffd\\x0a'; DROP TABLE lives;--.gpr", "'@sum.gpr", "'\\x09x.gpr", "'-1.gpr"],
           "hostile texts in CSV")


def check_full(recording):
    """A file that cannot grow is removed."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for form in ("sqlite", "nsys-sqlite", "csv"):
        done = subprocess.run([GPUPROF, "export", "--format", form, "-o", "full.out", recording], preexec_fn=limit,
                              restore_signals=False, stderr=subprocess.PIPE)
        expect(done.returncode in (3, 4), True, form, "that cannot be written ends with", done.returncode)
        expect([n for n in os.listdir(".") if n.startswith("full.out")], [], form, "leaves no file")


# Nsight Systems' users ask these of its export; each with the report of `gpuprof stats` that has the same figures.
KERNEL_SUM = """
    SELECT s.value, sum(k.end - k.start) AS total, count(*), min(k.end - k.start), max(k.end - k.start)
    FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value ORDER BY total DESC"""
COPY_SUM = """
    SELECT e.label, sum(m.end - m.start), count(*), sum(m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m
    JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = m.copyKind GROUP BY e.label"""
PROJECTION = """
    WITH ops AS (SELECT k.start, k.end, r.start AS launched, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL k
                 JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId)
    SELECT n.text, count(DISTINCT n.rangeId), count(*) FROM NVTX_EVENTS n
    JOIN ops ON ops.globalTid = n.globalTid AND ops.launched BETWEEN n.start AND n.end
    WHERE n.eventType = 59 GROUP BY n.text"""
CHAIN = """
    SELECT r.rowid, s.value, m.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUDA_CALLCHAINS c ON c.id = r.callchainId
    JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module ORDER BY r.rowid, c.stackDepth"""
STACK = """
    SELECT e.rowid, ifnull(f.function, 'unresolved'), ifnull(iif(f.python, f.file, f.library), '') FROM events e
    JOIN stack_frames s USING (recording, stack) JOIN frames f USING (recording, frame)
    WHERE e.kind IN ('launch', 'graph_launch', 'copy', 'wait') OR e.kind = 'alloc'
        AND e.space IN ('device', 'async', 'host', 'managed', 'array', 'physical') ORDER BY e.rowid, s.depth"""
CALLS = ("launch", "graph_launch", "copy", "wait", "alloc")
LIVE_BYTES = """
    SELECT sum(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END) FROM CUDA_GPU_MEMORY_USAGE_EVENTS
    WHERE memKind = 2"""


def stats(recording, name):
    return list(csv.DictReader(io.StringIO(run("stats", "-r", name, "--format", "csv", recording))))


def check_nsys(recording):
    db = export("nsys-sqlite", recording)
    found = [(n, t, c, a, b) for n, t, c, a, b in db.execute(KERNEL_SUM)]
    expect(found, [(r["Name"], int(r["Total Time (ns)"]), int(r["Instances"]), int(r["Min (ns)"]), int(r["Max (ns)"]))
                   for r in stats(recording, "cuda_gpu_kern_sum")], "kernels of the nsys export")
    copies = db.execute(COPY_SUM).fetchall()
    expected = [r for r in stats(recording, "cuda_gpu_mem_time_sum") if "memset" not in r["Operation"]]
    expect(sum(r[1] for r in copies), sum(int(r["Total Time (ns)"]) for r in expected), "copies of the nsys export")
    ranges = stats(recording, "nvtx_pushpop_trace")
    expect(db.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59").fetchone()[0], len(ranges), "ranges")
    expect(len(db.execute(PROJECTION).fetchall()) > 0, True, "ranges with kernels of the nsys export")
    calls = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
    expect(db.execute(calls + " WHERE end IS NULL OR end < start").fetchone()[0], 0, "calls without an end")
    kept = report("info", "--json", recording)["events"]
    expect(db.execute(calls).fetchone()[0], sum(kept.get(k, 0) for k in CALLS),
           "calls of the nsys export")
    expect(db.execute("SELECT count(*) FROM (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId NOTNULL"
                      " GROUP BY correlationId HAVING count(*) > 1)").fetchone()[0], 0, "calls with one correlation")
    versions = dict(db.execute("SELECT name, value FROM META_DATA_EXPORT"))
    expect(versions.get("EXPORT_SCHEMA_VERSION"), "3.16.1", "EXPORT_SCHEMA_VERSION")


def chains(db, sql):
    """The frames of each call with a stack, in order."""
    return [[r[1:] for r in rows] for _, rows in itertools.groupby(db.execute(sql), lambda row: row[0])]


def check_callchains(db, recording):
    """Calls have the stacks of the sqlite format, and natives their addresses."""
    found = chains(export("nsys-sqlite", recording), CHAIN)
    expect(len(found) > 0, True, "call chains")
    expect(found, chains(db, STACK), "call chains")
    rows = export("nsys-sqlite", recording).execute("SELECT m.value LIKE '%.py', originalIP IS NULL FROM CUDA_CALLCHAINS"
                                                    " JOIN StringIds m ON m.id = module WHERE m.value <> ''")
    expect({tuple(r) for r in rows}, {(0, 0), (1, 1)}, "addresses of Python's and native frames")


def check_gpu_time(recording):
    db = export("sqlite", recording)
    expect(db.execute("SELECT name, total_ns, count FROM gpu_time_by_kernel ORDER BY total_ns DESC").fetchall(),
           [(r["Name"], int(r["Total Time (ns)"]), int(r["Instances"])) for r in stats(recording, "cuda_gpu_kern_sum")],
           "gpu_time_by_kernel")
    kernels = report("kernels", "--json", recording)
    expect(db.execute("SELECT count(*), sum(took_ns) FROM kernels WHERE kind = 'kernel'").fetchone(),
           (kernels["total_count"], kernels["total_ns"]), "kernels")
    expect(dict(db.execute("SELECT joined, count(*) FROM kernels GROUP BY joined")).get("joined"),
           kernels["join"]["joined"], "joined operations")


def check_diagnostics(db, recording):
    """Each loss of the sqlite format is a warning, limits are information."""
    found = collections.Counter(t.split(":")[0] for t, in db.execute(
        "SELECT text FROM DIAGNOSTIC_EVENT d JOIN ENUM_DIAGNOSTIC_SEVERITY_LEVEL e ON e.id = d.severity"
        " JOIN ENUM_DIAGNOSTIC_SOURCE_TYPE s ON s.id = d.source WHERE e.name = 'Warning' AND s.name = 'Recorder'"))
    losses = collections.Counter(k for k, in export("sqlite", recording).execute("SELECT kind FROM losses"))
    expect(found, losses, "warnings of the nsys export")
    if report("info", "--json", recording)["events"].get("launch"):
        limits = [t for t, in db.execute("SELECT text FROM DIAGNOSTIC_EVENT WHERE severity = 1")]
        expect(any("without a recorded end" in t for t in limits), True, "the limits have the end of launches:", limits)


def check_without_gpu_time(recording):
    """No time of the GPU is invented; driver memory is that of the curve."""
    db = export("nsys-sqlite", recording)
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master")}
    expect(tables & {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"}, set(), "tables without GPU time")
    end = export("sqlite", recording).execute(
        "SELECT sum(bytes) FROM blocks WHERE of IN ('segment', 'driver') AND freed_ns IS NULL").fetchone()[0]
    expect(db.execute(LIVE_BYTES).fetchone()[0] or 0, end or 0, "live bytes of the nsys export")
    check_diagnostics(db, recording)


def settle(name):
    print("%s %s %s" % ("fail" if wrong else "pass", name, "; ".join(wrong[:3]).replace("\n", " ")))
    wrong.clear()


for path in sys.argv[3:]:
    base = os.path.basename(path)[:-4]
    database = export("sqlite", path)
    if base in WHOLE:
        check_events(database, path)
        check_steps(database, path)
        check_unused(database, path, check_peaks(database, path))
    else:
        check_peaks(database, path)
    check_lists(database, path)
    settle(base)
    check_holders(database, path)
    check_allocations(database, path)
    settle("views-" + base)
    if base in ("h200_gpt_oom", "fake-ranges", "leak_streams"):
        check_csv(database, path)
        settle("csv-" + base)
    if base == "h200_gpt_stacks":
        check_stacks(database, path)
        settle("stacks")
    if base in ("h200_gpt_stacks", "h200_calls"):
        check_callchains(database, path)
        settle("callchains-" + base)
    if base in ("fake-killed", "fake-no_room"):
        check_diagnostics(export("nsys-sqlite", path), path)
        settle("diagnostics-" + base)
    if base in ("fake-training", "fake-held", "h200_mlp"):
        check_without_gpu_time(path)
        settle("no-gpu-time-" + base)
    if base == "fake-held":
        check_hostile(path)
        settle("hostile")
        check_full(path)
        settle("full")
        check_documents(database)
        settle("documents")
if any("fake-held" in path for path in sys.argv[3:]):
    subprocess.run([MADE_GPU_TIME, "made.gpr"], check=True)
    check_gpu_time("made.gpr")
    settle("gpu-time")
    check_nsys("made.gpr")
    settle("nsys")
