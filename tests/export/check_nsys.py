"""Runs the reports and rules of Nsight Systems on `gpuprof export --format nsys-sqlite`:

    check_nsys.py NSYS GPUPROF MADE_GPU_TIME DATA...

NSYS is the folder of the unpacked packages. Runs in an empty folder. Each figure must be that of a command of gpuprof.
The SQL examples of the user guide are read from NSYS and run, too. Prints PASS or FAIL, the name and the reason."""

import collections
import csv
import glob
import html
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

NSYS, GPUPROF, MADE_GPU_TIME = sys.argv[1:4]
PROGRAM = glob.glob(os.path.join(NSYS, "usr/lib/*/nsight-systems/target-linux-*/nsys"))[0]
GUIDE = os.path.join(NSYS, "usr/share/doc/nsight-systems/UserGuide/index.html")
# reports that gpuprof has too, with the columns that differ by design: numbers of ranges, durations of calls, which gpuprof
# leaves empty, and a quotient that nsys computes with integers
SHARED = {
    "cuda_gpu_kern_sum": "",
    "cuda_gpu_mem_size_sum": "",
    "cuda_gpu_mem_time_sum": "",
    "cuda_gpu_trace": "Throughput.*",
    "cuda_kern_exec_sum": "QCount|[AQ](Avg|Med|Min|Max|StdDev) .*",
    "nvtx_gpu_proj_sum": "",
    "nvtx_gpu_proj_trace": "RangeId|ParentId|RangeStack",
    "nvtx_kern_sum": "",
    "nvtx_pushpop_trace": "RangeId|ParentId|RangeStack|NameTree",
}
NO_TID = 0x800000
OTHERS = ("cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_sum cuda_kern_exec_trace"
          " nvtx_pushpop_sum nvtx_sum nvtx_startend_sum").split()
NEED_RANGES = {"nvtx_pushpop_sum", "nvtx_pushpop_trace", "nvtx_sum", "nvtx_startend_sum"}
NEED_CALLS = {"cuda_api_sum", "cuda_api_trace", "cuda_api_gpu_sum"}
# tables of the guide's examples that no recording can fill: docs/EXPORTS.md names their content
MISSING = set("PROFILER_OVERHEAD CUDA_GRAPH_EVENTS OSRT_API ProcessStreams COMPOSITE_EVENTS SCHED_EVENTS"
              " SAMPLING_CALLCHAINS DX12_API GPU_CONTEXT_SWITCH_EVENTS SLI_P2P GENERIC_EVENTS GENERIC_EVENT_SOURCES".split())
wrong = []


def expect(found, expected, *what):
    if found != expected:
        wrong.append("%s: %s, expected: %s" % (" ".join(map(str, what)), str(found)[:300], str(expected)[:300]))


def settle(name):
    print("%s %s %s" % ("fail" if wrong else "pass", name, "; ".join(wrong[:3]).replace("\n", " ")))
    wrong.clear()


def gpuprof(*words):
    done = subprocess.run([GPUPROF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3):
        wrong.append("gpuprof %s ends with %d: %s" % (" ".join(words), done.returncode, done.stderr[:200]))
    return done.stdout.decode()


def made(name, *words):
    subprocess.run([MADE_GPU_TIME, name + ".gpr", *words], check=True)
    return export(name + ".gpr", name)


def export(recording, name):
    gpuprof("export", "--format", "nsys-sqlite", "-o", name + ".sqlite", recording)
    return name + ".sqlite"


def nsys(command, option, names, database):
    """The tables of these reports or rules by name; those that nsys skips are absent."""
    out = "out-" + command
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    words = [PROGRAM, command, "--format", "csv", "--output", out + "/x"]
    done = subprocess.run(words + [w for n in names for w in (option, n)] + [database], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=dict(os.environ, HOME=os.getcwd(), TMPDIR=os.getcwd()))
    text = done.stdout.decode()
    expect(done.returncode, 0, "nsys", command, *names, database)
    faults = [l for l in text.splitlines() if re.search(r"\b(error|traceback|failed|exception)\b", l, re.I)]
    expect(faults, [], "nsys", command, database)
    # a result without rows has no word behind the dots
    results = re.findall(r"/(\w+)\.py\](?:\([^)]*\))? to \[([^]]*)\]\.\.\. ?(PROCESSED|SKIPPED)?", text)
    expect([r[0] for r in results], [n.split(":")[0] for n in names], "results of nsys", command, database)
    tables = {}
    for name, path, state in results:
        if state != "SKIPPED":
            with open(path, encoding="utf-8", newline="") as table:
                tables[name] = list(csv.DictReader(table))
    return tables


def plain(rows, left_out):
    """Rows without some columns, without unknown ids of threads, and without ':' before names of the default domain."""
    def value(column, text):
        return "" if column == "TID" and text and int(text) >= NO_TID else re.sub("^:", "", text or "")

    return sorted(tuple((k, value(k, v)) for k, v in sorted(row.items()) if not re.fullmatch(left_out, k)) for row in rows)


def check_shared(database, recording, more_left_out="", ranges_left_out=()):
    tables = nsys("stats", "--report", list(SHARED), database)
    for name, left_out in SHARED.items():
        left_out += "|" + more_left_out
        ours = list(csv.DictReader(io.StringIO(gpuprof("stats", "-r", name, "--format", "csv", recording))))
        theirs = tables.get(name, [])
        if name.startswith("nvtx"):  # nsys has rows for what is in no range
            theirs = [r for r in theirs if r.get("Name", r.get("Range", r.get("NVTX Range")))]
        if name == "nvtx_kern_sum":
            theirs = [r for r in theirs if r["Style"] == "PushPop"]
        ours = [r for r in ours if not any(r.get(k) in ranges_left_out for k in ("Name", "Range", "NVTX Range"))]
        expect(bool(ours), True, name, "has rows")
        expect(len(theirs), len(ours), "rows of", name)
        for a, b in zip(plain(theirs, left_out), plain(ours, left_out)):
            if a != b:
                expect([x for x in a if x not in b], [x for x in b if x not in a], name)
                break


def check_figures(database, recording):
    """The same figures from commands that are not reports of nsys."""
    kernels = json.loads(gpuprof("kernels", "--json", recording))
    tables = nsys("stats", "--report", ["cuda_gpu_kern_sum", "cuda_gpu_mem_size_sum"] + OTHERS, database)
    for name in OTHERS:
        expect(bool(tables.get(name)) or name == "nvtx_startend_sum", True, name, "has rows")
    found = sorted((int(r["Instances"]), int(r["Total Time (ns)"]), int(r["Max (ns)"]))
                   for r in tables["cuda_gpu_kern_sum"])
    expect(found, sorted((k["count"], k["total_ns"], k["longest_ns"]) for k in kernels["kernels"]), "kernels --json")
    total = kernels["total_ns"] + kernels["copies"]["total_ns"] + kernels["sets"]["total_ns"]
    expect(sum(int(r["Total Time (ns)"]) for r in tables["cuda_gpu_sum"]), total, "time of operations")
    rows = csv.DictReader(io.StringIO(gpuprof("export", "--format", "csv", "--select", "kernels", recording)))
    sizes = collections.Counter()
    for row in rows:
        sizes["memset" if row["kind"] == "set" else "memcpy"] += int(row["bytes"] or 0) if row["kind"] != "kernel" else 0
    found = collections.Counter()
    for row in tables["cuda_gpu_mem_size_sum"]:
        found["memset" if "memset" in row["Operation"] else "memcpy"] += round(float(row["Total (MB)"]) * 1000)
    expect(found, collections.Counter({k: round(v / 1000) for k, v in sizes.items()}), "kilobytes of copies and sets")
    events = json.loads(gpuprof("info", "--json", recording))["events"]
    calls = sum(int(r["Num Calls"]) for r in tables["cuda_api_sum"])
    expect(calls, sum(events.get(k, 0) for k in ("launch", "graph_launch", "copy", "wait")), "calls")
    check_ranges(tables["nvtx_pushpop_sum"], recording)
    return kernels


def check_ranges(rows, recording):
    """Ranges that begin and end in the recording, as `phases` counts them."""
    expected = collections.Counter()

    def add(phase):
        if phase["style"] == "nested" and phase["names"] == 1:
            name = phase["name"] if phase["domain"] is None else "%s:%s" % (phase["domain"], phase["name"])
            expected[name, "calls"] += phase["calls"]
            expected[name, "ns"] += phase["time_ns"]
        for child in phase["children"]:
            add(child)

    for phase in json.loads(gpuprof("phases", "--json", recording))["phases"]:
        add(phase)
    found = {(r["Range"], k): int(r[c]) for r in rows for k, c in (("calls", "Instances"), ("ns", "Total Time (ns)"))}
    expect(bool(expected), True, "phases of", recording)
    expect({k: found.get(k) for k in expected}, dict(expected), "ranges")


def check_rules(database, recording, kernels, waiting):
    """`waiting`: copies and sets whose call waits, and as many that do not."""
    names = ["cuda_api_sync:rows=-1", "cuda_memcpy_async:rows=-1", "cuda_memcpy_sync:rows=-1", "cuda_memset_sync:rows=-1",
             "gpu_gaps:rows=-1:gap=0", "gpu_time_util:rows=-1:threshold=101:chunks=1"]
    tables = nsys("analyze", "--rule", names, database)
    waits = [json.loads(l) for l in gpuprof("dump", "--json", "--kind", "wait", "--no-stacks", recording).splitlines()]
    expect(sorted(int(r["Start (ns)"]) + int(r["Duration (ns)"]) for r in tables["cuda_api_sync"]),
           sorted(w["at_ns"] for w in waits if w["kind"] == "wait"), "cuda_api_sync")
    for rule in ("cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync"):
        expect(len(tables[rule]), waiting, rule)
    use = (kernels["total_ns"] + kernels["copies"]["total_ns"] + kernels["sets"]["total_ns"]) / kernels["envelope_ns"]
    expect([r["In-Use (%)"] for r in tables["gpu_time_util"]], ["%.1f" % (100 * use)], "gpu_time_util")
    gaps = sum(int(r["Duration (ns)"]) for r in tables["gpu_gaps"])
    expect(gaps, kernels["envelope_ns"] - kernels["busy_ns"], "gpu_gaps")


def check_guide(database):
    """SQL of the user guide: each example runs, or needs a table that no recording can fill."""
    with open(GUIDE, encoding="utf-8") as text:
        text = text.read()
    text = text[text.rindex("Common SQLite Examples"):text.rindex("Arrow Format Description")]
    ran = 0
    for example in text.split("<p><strong>")[1:]:
        title = html.unescape(re.sub("<[^>]*>", "", example.split("</strong>")[0]))
        shutil.copy(database, "guide.sqlite")
        db = sqlite3.connect("guide.sqlite")
        for block in re.findall('highlight-sql[^>]*>.*?<pre>(.*?)</pre>', example, re.S):
            sql = html.unescape(re.sub("<[^>]*>", "", block)).replace("TABLE_NAME", "NVTX_EVENTS")
            try:
                db.executescript(sql)
                ran += 1
            except sqlite3.Error as error:
                table = re.match(r"no such table: (?:main\.)?(\w+)$", str(error))
                expect(bool(table and table.group(1) in MISSING), True, title, error)
                break
        for table, column in (("RUNTIME", "kernelName"), ("KERNEL", "nvtxRange")):  # that examples add
            if db.execute("SELECT 1 FROM pragma_table_info('CUPTI_ACTIVITY_KIND_%s') WHERE name = ?" % table, (column,)).fetchone():
                filled = db.execute("SELECT count(%s) FROM CUPTI_ACTIVITY_KIND_%s" % (column, table)).fetchone()[0]
                expect(filled > 0, True, title, "fills", column)
        db.close()
    expect(ran >= 5, True, "examples that run:", ran)


def check_without_gpu_time(recording):
    """Reports of calls and ranges have rows, all others end without an error."""
    database = export(recording, "data")
    db = sqlite3.connect(database)
    has_ranges = db.execute("SELECT 1 FROM NVTX_EVENTS WHERE eventType = 59").fetchone() is not None
    has_calls = db.execute("SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone() is not None
    db.close()
    tables = nsys("stats", "--report", OTHERS + list(SHARED), database)
    for name in NEED_CALLS:
        expect(bool(tables.get(name)), has_calls, name, "has rows")
    for name in NEED_RANGES - {"nvtx_startend_sum"}:
        expect(bool(tables.get(name)), has_ranges, name, "has rows")
    if has_ranges:
        check_ranges(tables.get("nvtx_pushpop_sum", []), recording)
    nsys("analyze", "--rule", ["cuda_api_sync"], database)
    os.remove(database)


made_database = made("made")
check_shared(made_database, "made.gpr")
settle("reports")
figures = check_figures(made_database, "made.gpr")
settle("figures")
check_rules(made_database, "made.gpr", figures, 0)
settle("rules")
pageable = made("pageable", "pageable")
check_rules(pageable, "pageable.gpr", json.loads(gpuprof("kernels", "--json", "pageable.gpr")), 5)
settle("rules-pageable")
started = made("started", "started")
# docs/ANALYSIS.md, section 16, has these differences of started ranges
check_shared(started, "started.gpr", "Lvl|NumChild|Avg Range Lvl|Avg Num Child", [':all "10", twice', 'all "10", twice'])
settle("reports-started")
check_guide(made_database)
settle("guide")
for path in sys.argv[4:]:
    check_without_gpu_time(path)
    settle(os.path.basename(path)[:-4])
