"""Runs every command that a report's `next:` line prints, over all recordings of tests/data.

next_answers.py DATA
Each must exit with 0 and answer: its first line after the headline must not be "no ...". Where
memory ran out, every report leads to `oom` (except `oom` itself and its next commands). Commands
that record are not run. Prints errors, then how many were run.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

READERS = [
    "info",
    "timeline",
    "peak",
    "peak --tree",
    "top",
    "oom",
    "frag",
    "frag --map",
    "frag --summary",
    "phases",
    "idle",
    "leaks",
    "check --max-peak 1T",
    "check --max-growth 0",
    "check --max-peak 1",
    "dump",
    "diff --from start",
]
LEADS_ON = ("oom", "frag --map", "verify", "run")


def run(words):
    """Exit status, and its output on stdout or, with -o FILE, in the file."""
    with tempfile.TemporaryDirectory(dir=".") as directory:
        done = subprocess.run(["gpuprof", *words], capture_output=True, text=True, cwd=directory)
        for name in os.listdir(directory):
            with open(os.path.join(directory, name)) as file:
                return done.returncode, file.read()
    return done.returncode, done.stdout


def next_of(out):
    lines = [line for line in out.splitlines() if line.startswith("next: ")]
    return lines[-1][len("next: gpuprof ") :] if lines else None


def answer(words):
    """The error in its answer; None if there is none."""
    code, out = run(words)
    lines = [line for line in out.splitlines() if line.strip() and not line.startswith("next: ")]
    # `diff` first names both sides
    lines = [line for line in lines if not re.search(r"[\d,]+ events?, nothing lost", line)]
    if code != 0 and not (words[0] == "diff" and code == 1):
        return f"ends with {code}"
    if not lines:
        return "prints nothing"
    return f"answers '{lines[0]}'" if re.match(r"no |nothing ", lines[0]) else None


def suggestions(data, name):
    """Pairs of a command and the one after its `next:`."""
    path = os.path.join(data, name)
    for reader in READERS:
        _, out = run([*reader.split(), path])
        yield reader, next_of(out)


def look_at(data, name):
    wrong, commands = [], {}
    _, out = run(["oom", "--json", os.path.join(data, name)])
    has_oom = json.loads(out)["ooms"] != [] if out else False
    for reader, text in suggestions(data, name):
        if text is None:
            continue
        leads = text.split(" ")[0]
        if has_oom and reader not in ("oom", "diff --from start") and leads not in LEADS_ON:
            wrong.append(f"{name}: {reader} leads to {text}, not to oom")
        if leads == "oom" and not has_oom:
            wrong.append(f"{name}: {reader} leads to oom, but memory did not run out")
        if leads != "run":
            commands.setdefault(text, reader)
    for text, reader in commands.items():
        why = answer(shlex.split(text))
        if why:
            wrong.append(f"{name}: {reader} leads to '{text}', which {why}")
    return wrong, len(commands)


def main():
    data = sys.argv[1]
    names = sorted(n for n in os.listdir(data) if n.endswith(".gpr"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda name: look_at(data, name), names))
    for wrong, _ in found:
        for line in wrong:
            print(line)
    print(
        "all answer" if not any(wrong for wrong, _ in found) else "", sum(n for _, n in found) > 100
    )


main()
