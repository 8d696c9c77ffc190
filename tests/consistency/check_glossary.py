"""Checks docs/GLOSSARY.md against the code, docs/JSON.md and the compared figures: check_glossary.py ROOT

Fails for a function that no header or source has, a key that JSON.md lacks, terms out of order, and a figure of
figure_table.py without a term of the page in its name.
"""
import glob
import os
import re
import sys

from figure_table import FIGURES, OF_PROGRAM


COMMON = {"a", "at", "curve", "each", "moment", "of", "the"}


def read(root, *names):
    texts = []
    for name in names:
        for path in glob.glob(os.path.join(root, name), recursive=True):
            with open(path) as file:
                texts.append(file.read())
    return "\n".join(texts)


def rows(page):
    """The cells of the table below this title."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def words(text):
    return {re.sub("(?<=ch)es$|s$", "", word) for word in re.findall("[a-z]+", text.lower())} - COMMON


def main():
    root = sys.argv[1]
    page, keys = read(root, "docs/GLOSSARY.md"), read(root, "docs/JSON.md")
    code = read(root, "libgpuprof/**/*.[ch]", "tools/**/*.[ch]", "interpose/**/*.[ch]")
    functions, faults, table = set(re.findall(r"\bgp_\w+(?=\()", code)), [], rows(page)
    for term, _, function, key, *_ in table:
        faults += [f"{term}: no function {name}" for name in re.findall(r"`(\w+)`", function) if name not in functions]
        faults += [f"{term}: docs/JSON.md has no key {name}" for name in re.findall(r"`([^`]+)`", key) if name not in keys]
    terms = [re.sub(r"\W", " ", row[0]).lower().strip() for row in table]
    faults += [f"{term} is not in its place" for term, before in zip(terms[1:], terms) if term < before]
    known = set().union(*map(words, terms))
    faults += [f"figure '{name}': no term of the glossary" for name in {**FIGURES, **OF_PROGRAM} if not words(name) & known]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(table)} terms, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
