"""Compares every figure that two commands print, over all recordings: compare_figures.py GPUPROF RECORDING...

figure_table.py has the figures. Rows of one figure with the same key must have the same value. OF_PROGRAM
has the figures that do not depend on a recording. Prints how many values of each figure were compared. Fails
when two values differ, and when a row was never compared. A word of MOMENTS in a command line stands for a
moment that is chosen from the recording's events. compare_figures.py --list prints the figures and their
rows.
"""
import concurrent.futures
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from figure_readers import MOMENTS
from figure_table import DEFINITIONS, EVENTS, FIGURES, MANY, OF_PROGRAM

# without GPUPROF_ variables, so that defaults apply
BARE = {key: value for key, value in os.environ.items() if not key.startswith("GPUPROF")}


COPIES = tempfile.TemporaryDirectory()  # for commands that write


class Recording:
    """Outputs of the commands for one file, or without one; each command runs once."""

    def __init__(self, gpuprof, path):
        self.gpuprof, self.path, self.name, self.texts = gpuprof, path, os.path.basename(path or "no recording"), {}
        self.times = None
        if path:
            with contextlib.suppress(OSError), open(path[:-len(".gpr")] + ".run") as said:
                self.texts["run"] = said.read()
            self.texts.setdefault("run", "")

    def word(self, word):
        """Replaces a word of a command line: a file, or a moment; None: the recording has no such moment."""
        if word == "FILE":
            return self.path
        if word == "COPY":
            return shutil.copy(self.path, os.path.join(COPIES.name, self.name))
        if word not in MOMENTS:
            return word
        if self.times is None:
            self.times = [event["at_ns"] for event in self.ask(EVENTS) or () if event["kind"] not in DEFINITIONS]
        at_ns = MOMENTS[word](self.times, self.name)
        return None if at_ns is None else f"{at_ns}ns"

    def text(self, line):
        if line not in self.texts:
            words = [self.word(word) for word in line.split()]
            if None in words:
                return self.texts.setdefault(line, "")
            command = [self.gpuprof, *words] + ([] if {"FILE", "COPY"} & {*line.split()} or not self.path else [self.path])
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=BARE)
            if done.returncode not in (0, 1, 2, 3):
                sys.exit(f"status {done.returncode}: {' '.join(command)}")
            self.texts[line] = done.stdout
        return self.texts[line]

    def ask(self, line):
        """Argument of a row's function: a document, a list of them for dump, or a text; None: no output."""
        text = self.text(line)
        if "--json" not in line.split() or not text:
            return text or None
        if line.startswith("dump"):
            return [json.loads(one) for one in text.splitlines()]
        return json.loads(text)


def values_of(found, line, function):
    """Values by key; null in a document is a value, but a text may lack a figure."""
    values = function(found) if found else {}
    return {key: value for key, value in (values or {}).items() if value is not None or "--json" in line.split()}


def compare_one(recording):
    """[(figure, row)] compared, {"recording: figure: row": difference}."""
    compared, differences = [], {}
    for figure, rows in (FIGURES if recording.path else OF_PROGRAM).items():
        seen = {}  # by key: value and name of the first row that has it
        for name, line, function in rows:
            found = recording.ask(line)
            try:
                values = values_of(found, line, function)
            except (KeyError, TypeError, IndexError) as why:
                raise ValueError(f"{recording.name}: {figure}: {name}") from why
            for key, value in values.items():
                if key not in seen:
                    seen[key] = (value, name)
                    continue
                compared += [(figure, name), (figure, seen[key][1])]
                if seen[key][0] != value:
                    differences[f"{recording.name}: {figure}: {name}"] = \
                        f"{key}: {value}, {seen[key][1]} prints {seen[key][0]}"
    return compared, differences


def compare_many(line, recordings):
    command = [recordings[0].gpuprof, *line.split(), *(recording.path for recording in recordings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    figure = "many files: " + line.split()[0]
    alone = [recording.ask(line) for recording in recordings]
    many = json.loads(done.stdout)
    if len(many) != len(alone):
        return [], {f"all: {figure}: count": f"{len(many)} answers to {len(alone)} recordings"}
    return [(figure, "each")] * len(alone), {
        f"{recording.name}: {figure}: each": "not the answer to this file alone"
        for recording, one, other in zip(recordings, alone, many) if one != other}


def print_list():
    for figure, rows in {**FIGURES, **OF_PROGRAM}.items():
        print(f"{figure}: {'; '.join(name for name, _, _ in rows)}")
    print("the answer to several files is that to each:", "; ".join(line.split()[0] for line in MANY))


def main():
    if sys.argv[1] == "--list":
        return print_list()
    gpuprof = sys.argv[1]
    recordings = [Recording(gpuprof, path) for path in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compare_one, [*recordings, Recording(gpuprof, None)]))
        results += pool.map(lambda line: compare_many(line, recordings), MANY)
    counts, found, differences = {}, {}, {}
    for (compared, differing) in results:
        for figure, row in compared:
            counts[figure, row] = counts.get((figure, row), 0) + 1
        differences.update(differing)
    figures = {**FIGURES, **OF_PROGRAM}
    for figure in [*figures, *("many files: " + line.split()[0] for line in MANY)]:
        rows = {row: count for (name, row), count in counts.items() if name == figure}
        faults = sum(f": {figure}: " in key for key in differences)
        print(f"{figure}: {sum(rows.values())} values of {len(rows)} rows, {faults} differ")
        found[figure] = rows
    rows = {key.split(": ", 1)[1] for key in differences}
    faults = [f"{key}: {text}" for key, text in differences.items()]
    faults += [f"{figure}: {row[0]} was never compared" for figure, rows in figures.items() for row in rows
               if row[0] not in found[figure]]
    print(*sorted(faults), sep="\n", end="\n" if faults else "")
    print(f"{sum(counts.values())} values of {len(found)} figures over {len(recordings)} recordings, "
          f"{len(differences)} contradictions")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
