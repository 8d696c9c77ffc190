#!/usr/bin/env python3
"""Prints how many lines of each room the programs of a --coverage build ran, in all runs together.
coverage.py BUILD PERCENT ROOM...: fails where a room (libgpuprof/read) has a lower share."""
import collections
import glob
import json
import os
import subprocess
import sys

SHOWN = 8  # number of files to print, those of a room with the lowest shares


def lines_of(build, room):
    """{file: {line: was it run}}: a file is compiled more than once, for units and for fuzzing."""
    ran = collections.defaultdict(dict)
    for data in sorted(glob.glob("%s/**/%s/**/*.gcda" % (build, room), recursive=True)):
        told = subprocess.run(["gcov", "--stdout", "--json-format", data], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for text in told.splitlines():
            for file in json.loads(text)["files"]:
                if file["file"].startswith(room + "/"):
                    lines = ran[file["file"]]
                    for line in file["lines"]:
                        number = line["line_number"]
                        lines[number] = lines.get(number, False) or line["count"] > 0
    return ran


def main(build, percent, rooms):
    is_low = False
    for room in rooms:
        ran = lines_of(build, room)
        lines = sum(len(file) for file in ran.values())
        covered = sum(sum(file.values()) for file in ran.values())
        share = 100 * covered / lines if lines else 0
        print("%s: %.1f%%, %d of %d lines" % (room, share, covered, lines))
        least = sorted((sum(file.values()) / len(file), name) for name, file in ran.items() if file)
        for part, name in least[:SHOWN]:
            print("  %5.1f%% %s" % (100 * part, os.path.basename(name)))
        if share < percent:
            print("coverage: %s is below %g%%" % (room, percent))
            is_low = True
    return is_low


sys.exit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
