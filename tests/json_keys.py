"""Checks the keys of gpuprof's JSON output against docs/JSON.md, in both directions: json_keys.py GPUPROF DATA JSON.md

Fails for a key that the page lacks, and for a type or a null that the page does not allow. Also fails for a key of the
page that no run below printed, unless it is in NEVER. The keys of `stats` are compared with its manual page.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

# shown by no recording of tests/data: part of the job was captured
NEVER = {"info": {f"captured.{key}" for key in ("rule", "spans", "ns", "ended_by", "kept", "kept[].from_ns",
                                                "kept[].to_ns", "kept[].opened_by", "kept[].closed_by")}}
LIMITS = ("--max-peak", "1G", "--max-growth", "0", "--max-frag", "10%", "--min-headroom", "5%")
EACH = {
    "info": [("--steps",)],
    "timeline": [("--points", "16", "--fragmentation"), ("--points", "16", "--by", "role")],
    "peak": [("--top", "3"), ("--top", "3", "--by", "range"), ("--by", "role"), ("--by", "module", "--tree"),
             ("--tree",)],
    "top": [("--top", "3"), ("--top", "3", "--by", "range"), ("--by", "role")],
    "frag": [(), ("--fit", "64M"), ("--by", "role")],
    "oom": [("--top", "3")],
    "leaks": [(), ("--by", "role")],
    "phases": [("--top", "3")],
    "idle": [("--top", "3")],
    "waits": [("--top", "3")],
    "startup": [("--top", "3")],
    "graphs": [()],
    "kernels": [()],
    "collectives": [()],
    "counters": [()],
    "check": [LIMITS],
    "verify": [()],
    "dump": [("--limit", "4000")],
}
LIKE = {"snapshot": "frag"}  # commands, and the section that has their keys
TYPES = {dict: "object", list: "list", str: "text", bool: "bool", int: "integer", float: "number", type(None): "null"}


def copies(data, where):
    """Recordings that a run may change: damaged ones, and one with native frames."""
    whole = open(os.path.join(data, "h200_gpt_stacks.gpr"), "rb").read()
    flipped = bytearray(whole)
    flipped[30000] ^= 1
    out = []
    for name, content in (("cut", whole[:len(whole) * 2 // 3]), ("flipped", flipped), ("named", whole)):
        out.append(os.path.join(where, name + ".gpr"))
        with open(out[-1], "wb") as file:
            file.write(content)
    return out[:2], out[2:]


def baselines(gpuprof, where, one, other):
    """check with a baseline that has the GPU, and with one that lacks it."""
    made = os.path.join(where, "baseline.json")
    subprocess.run([gpuprof, "check", "--baseline", made, "--update", one], check=True, stdout=subprocess.DEVNULL)
    with open(made, encoding="utf-8") as file:
        text = file.read()
    lacks = os.path.join(where, "lacks.json")
    with open(lacks, "w", encoding="utf-8") as file:
        file.write(text.replace("NVIDIA H200", "another GPU"))
    return [("check", "--json", "--baseline", baseline, other) for baseline in (made, lacks)]


def recorded(gpuprof, where, job, *options):
    """A recording on the fake driver of that victim, or of a Python job of tests/cli."""
    build, output = os.path.dirname(gpuprof), os.path.join(where, job + ".gpr")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli", job)
    command = [sys.executable, "-B", script] if job.endswith(".py") else [os.path.join(build, "victims", job)]
    subprocess.run([gpuprof, "run", "-q", *options, "-o", output, "--", *command], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "fake")})
    return output


def made(gpuprof, where, name, *kind):
    """An invented recording that tests/frag writes."""
    out = os.path.join(where, "-".join((name, *kind)) + ".gpr")
    subprocess.run([os.path.join(os.path.dirname(gpuprof), "frag", name), out, *kind], check=True)
    return out


def runs(gpuprof, data, where):
    damaged, named = copies(data, where)
    files = sorted(glob.glob(os.path.join(data, "*.gpr")))
    for command, options in EACH.items():
        yield from ((command, "--json", *o, f) for o in options for f in files)
    whole = [f for f in files if "oom" in f or "libraries" in f or "gpt_graph" in f or "ddp" in f]
    yield from (("dump", "--json", f) for f in whole)
    one, other = (os.path.join(data, f"h200_gpt_{name}.gpr") for name in ("eager", "graph"))
    yield ("diff", "--json", one, other)
    yield ("diff", "--json", "--by", "range", one, other)
    yield ("diff", "--json", os.path.join(data, "leak_pinned.gpr"), one)
    yield ("diff", "--json", os.path.join(data, "h200_oom_kinds.gpr"), one)
    ranges, frames, cupy = (os.path.join(data, f"h200_{name}.gpr") for name in ("ranges", "gpt_stacks", "cupy"))
    yield ("diff", "--json", "--by", "range", ranges, frames)
    yield ("diff", "--json", cupy, one)
    yield ("phases", "--json", "--device", "0", one)
    yield from baselines(gpuprof, where, one, other)
    expandable, captured, copied = (recorded(gpuprof, where, job)
                                    for job in ("expandable", "graph_capture", "wait_job.py"))
    for file in (one, expandable):
        yield ("diff", "--json", "--from", "start", file)
    yield from ((command, "--json", expandable) for command in ("frag", "info", "timeline", "peak", "top"))
    yield ("dump", "--json", "--bare", captured)
    yield from ((command, "--json", copied) for command in ("dump", "waits", "startup"))
    yield from (("kernels", "--json", made(gpuprof, where, "made_gpu_time", *kind))
                for kind in ((), ("lost",), ("refused",), ("without-stacks",)))
    yield from (("collectives", "--json", "--by", by, made(gpuprof, where, "made_gpu_time", "nccl"))
                for by in ("step", "stream"))
    timed = made(gpuprof, where, "made_gpu_time")
    pooled = os.path.join(where, "pooled.gpr")
    subprocess.run([os.path.join(os.path.dirname(gpuprof), "frag", "made_oom"), "graph", pooled], check=True)
    yield from (("graphs", "--json", f) for f in (timed, pooled, recorded(gpuprof, where, "graph_job.py", "--stacks=python")))
    yield ("counters", "--json", recorded(gpuprof, where, "counter_job.py", "--metrics", "roofline", "--kernel", "."))
    yield ("counters", "--json", recorded(gpuprof, where, "sample_job.py", "--metrics", "utilization"))
    yield ("oom", "--json", recorded(gpuprof, where, "model_until_oom.py", "--stacks=python"))
    yield ("info", "--json", "--steps", timed)
    yield from (("phases", "--json", "--gpu", f) for f in (timed, ranges))
    for command in ("info", "timeline", "verify", "oom"):
        yield from ((command, "--json", f) for f in damaged)
    yield from (("symbolize", "--json", f) for f in damaged + named)
    yield ("doctor", "--json")
    yield ("watch", "--json", one)
    yield ("ctl", "--json")
    yield ("snapshot", "--json", "PID")


# ctl lists recording processes and snapshot reads one, so a recorded process calls both
ASKING = """
import ctypes, os, subprocess, sys
driver, context = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
assert driver.cuInit(0) == 0 and driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(context), ctypes.c_size_t(1 << 20)) == 0
sys.exit(subprocess.call([str(os.getpid()) if word == "PID" else word for word in sys.argv[2:]]))
"""


def within_a_recorded_job(gpuprof, where, command):
    driver = os.path.join(os.path.dirname(gpuprof), "fake", "libcuda.so.1")
    output = os.path.join(where, f"asks_{command[1]}.gpr")
    return [gpuprof, "run", "-q", "-o", output, "--", sys.executable, "-c", ASKING, driver, *command]


def keys(value, path, found):
    """{path: its types}; "a.b" is b of the object a, "a[]" an element of the list a."""
    if path:
        found.setdefault(path, set()).add(TYPES[type(value)])
    if isinstance(value, dict):
        for key, part in value.items():
            keys(part, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for part in value:
            keys(part, f"{path}[]", found)


def documents(command, text):
    whole = [json.loads(line) for line in text.splitlines()] if command == "dump" else [json.loads(text)] if text else []
    for document in whole:
        yield from document if isinstance(document, list) else [document]


def printed(gpuprof, data, where):
    def ask(run):
        command = [gpuprof, *run]
        if run[0] in ("ctl", "snapshot"):
            command = within_a_recorded_job(gpuprof, where, command)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = {}
        for k, document in enumerate(documents(run[0], done.stdout)):
            if document.get("schema") != 1 and (k == 0 or run[0] != "dump"):
                sys.exit(f"no schema: gpuprof {' '.join(run)}")
            keys(document, "", found)
        return LIKE.get(run[0], run[0]), found
    all_found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for command, found in pool.map(ask, runs(gpuprof, data, where)):
            for path, types in found.items():
                all_found.setdefault(command, {}).setdefault(path, set()).update(types)
    return all_found


class Page:
    """docs/JSON.md: {section: {path: (types, may be null, section and path with the same parts)}}"""

    def __init__(self, path):
        self.section, self.included, rows = {}, {}, None
        for line in open(path, encoding="utf-8"):
            if line.startswith("## "):
                name = line[3:].strip()
                rows = self.section[name] = {}
                self.included[name] = []
            elif line.startswith("Begins with the keys of "):
                self.included[name] += re.findall(r"\[(\w+)\]", line)
            elif rows is not None and line.startswith("| `"):
                key, types, _, null = (cell.strip() for cell in line.strip().strip("|").split(" | "))
                like = re.search(r"as `([a-z]+)(?: ([^`]+))?`", types)
                rows[key.strip("`")] = (set(re.findall(r"\b(?:object|list|text|bool|integer|number)\b", types)),
                                        null not in ("", "-"), like and like.groups())

    def find(self, section, path):
        """(section, path) of the row that describes it; None."""
        rows = self.section.get(section, {})
        for key, (_, _, like) in rows.items():
            if like:
                for begin in (key + "[].", key + "."):
                    if path.startswith(begin):
                        prefix = like[1] + "." if like[1] else ""
                        return self.find(like[0], prefix + path[len(begin):])
        for key in sorted(rows, key=lambda key: "NAME" in key):
            if re.fullmatch(re.escape(key).replace("NAME", r"[^.\[\]]+"), path):
                return section, key
        for other in self.included.get(section, []):
            if self.find(other, path):
                return self.find(other, path)
        return None


FIGURE = re.compile(r"\w* ?(Avg|Med|Min|Max|StdDev) \(\w+\)")  # the page has them once for all reports


def stats_faults(gpuprof, where, page):
    """Each report has the columns of its row in the manual page, in that order, and is in the page."""
    file, described, faults = made(gpuprof, where, "made_gpu_time"), {}, []
    for line in open(page, encoding="utf-8"):
        if re.match(r"\| `(cuda|nvtx)_", line):
            name, _, columns = line.strip().strip("|").split(" | ")
            described[name.strip(" `")] = re.findall("`([^`]+)`", columns)
    listed = subprocess.run([gpuprof, "stats"], check=True, stdout=subprocess.PIPE, text=True).stdout
    if sorted(line.split()[0] for line in listed.splitlines()[1:]) != sorted(described):
        faults.append("stats: the reports are not those of the manual page")
    for name, columns in described.items():
        text = subprocess.run([gpuprof, "stats", "-r", name, "--format", "json", file], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        if any([key for key in row if not FIGURE.fullmatch(key)] != columns for row in json.loads(text)):
            faults.append(f"stats: {name} has other keys than the manual page")
    return faults


def main():
    gpuprof, data, document = sys.argv[1:]
    page, faults, used = Page(document), [], set()
    with tempfile.TemporaryDirectory() as where:
        found = printed(gpuprof, data, where)
        faults += stats_faults(gpuprof, where, os.path.join(os.path.dirname(document), "man", "gpuprof-stats.1.md"))
    for command, paths in found.items():
        for path, types in sorted(paths.items()):
            row = page.find(command, path)
            if not row:
                # elements without names are in the page's own table
                if not page.find(command, path.rstrip("[]")) or not path.endswith("[]"):
                    faults.append(f"{command}: {path} ({', '.join(sorted(types))}) is not in the page")
                continue
            used.add(row)
            allowed, is_nullable, _ = page.section[row[0]][row[1]]
            wrong = types - allowed - ({"null"} if is_nullable else set())
            wrong -= {"integer"} if "number" in allowed else set()
            if wrong:
                faults.append(f"{command}: {path} is {', '.join(sorted(wrong))}, the page says {', '.join(sorted(allowed))}")
    for section, rows in page.section.items():
        faults += [f"{section}: {path} is in the page, and was not printed" for path in rows
                   if (section, path) not in used and path not in NEVER.get(section, ())]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(used)} keys, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
