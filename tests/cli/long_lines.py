"""Prints the lines of each command's reports and help that are wider than a terminal of 80
columns.

`next:` is a command to copy, and a path may be longer than the line, so the terminal breaks them.
"""
import os
import re
import subprocess
import sys
import unicodedata

COLUMNS = 80
TERMINAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drive_terminal.py")
REPORTS = """check --max-peak 1GiB --max-growth 0 --max-frag 5% --min-headroom 10%|diff --from 100ms
    dump --limit 20
    frag|frag --map|frag --summary|idle|info --steps|leaks|oom|oom --details
    peak|peak --tree|peak --by library|phases
    symbolize|timeline|top|verify"""
OTHERS = """doctor|doctor --recording none.gpr|help|help --environment|dump --kind bogus none.gpr"""


def width(line):
    line = re.sub(r"\\e\[[0-9;]*m", "", line)
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line)


def judge(words):
    """True if the command printed lines, and all of them fit."""
    shown = subprocess.run(
        [sys.executable, "-B", TERMINAL, str(COLUMNS), "50", "gpuprof", *words],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout.split("\n")
    lines = [line for line in shown[:-2] if not line.startswith("next: ") and " " in line.strip()]
    for line in lines:
        if width(line) > COLUMNS:
            print(f"{' '.join(words)}: {width(line)} columns: {line}")
    return bool(lines) and all(width(line) <= COLUMNS for line in lines)


os.environ["GPUPROF_PAGER"] = "cat"
recordings = sys.argv[1:]
listed = subprocess.run(
    ["gpuprof", "help"], stdout=subprocess.PIPE, encoding="utf-8", check=True
).stdout
commands = re.findall(r"^  (\w+) ", listed, re.M)
jobs = [line.split() + [r] for r in recordings for line in re.split(r"[|\n]\s*", REPORTS)]
jobs += [["diff", *recordings[:2]]]
jobs += [line.split() for line in re.split(r"[|\n]\s*", OTHERS)]
jobs += [[command, option] for command in commands for option in ("--help", "--bogus")]
print(f"{sum(map(judge, jobs))} of {len(jobs)} fit")
