"""Each report of `gpuprof stats` has equal cells as table, CSV and JSON."""
import csv
import json
import subprocess
import sys


def stats(report, form):
    words = ["gpuprof", "stats"]
    if report is not None:
        words += ["-r", report, "--format", form, sys.argv[1]]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def rows_of_table(text):
    lines = text.split("\n")[2:]
    ends, at = [], 0
    for dashes in lines[1].split("  "):
        dashes = dashes.strip()
        at += 2 if ends else 1
        ends.append((at, at + len(dashes)))
        at += len(dashes)
    for line in [lines[0]] + lines[2:]:
        if line.startswith(" "):
            yield [line[a:b].strip() for a, b in ends[:-1]] + [line[ends[-1][0]:].strip()]


def plain(cell):
    """A number without commas between thousands; a JSON number as a table has it."""
    if cell is None:
        return ""
    bare = str(cell).replace(",", "")
    try:
        return f"{float(bare):.3f}"
    except ValueError:
        return str(cell).strip()


for line in stats(None, None).splitlines()[1:]:
    name = line.split()[0]
    head, *rows = csv.reader(stats(name, "csv").splitlines())
    documents = json.loads(stats(name, "json"))
    table = list(rows_of_table(stats(name, "table")))[:1 + len(rows)]
    same = table[0] == head and all(list(d) == head for d in documents)
    same = same and len(documents) == len(rows) == len(table) - 1
    for a, b, c in zip(rows, table[1:], documents):
        cells = [[plain(x) for x in row] for row in (a, b, c.values())]
        same = same and cells[0] == cells[1] == cells[2]
    print(f"{name:22} {len(head):2} columns, {'rows' if rows else 'no rows'}:",
          "equal" if same else "differ")
