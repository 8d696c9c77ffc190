"""Static functions whose names are defined in more than MOST files: statics.py FILE...

Such a name in a search or a stack does not identify the file. Prints a line for each definition.
"""
import re
import sys

MOST = 3
DEFINED = re.compile(r"^(?:[A-Z_]+(?:\([^)\n]*\))? )*static\b[^=;({]*?[ *]([a-z]\w*)\(", re.M)


def main():
    found = {}
    for path in sys.argv[1:]:
        text = open(path, encoding="utf-8").read()
        for match in DEFINED.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            found.setdefault(match.group(1), {})[path] = line
    for name, places in sorted(found.items()):
        for path, line in places.items() if len(places) > MOST else ():
            print(f"{path}:{line}: static {name} in {len(places)} files, expected: at most {MOST}")
    return any(len(places) > MOST for places in found.values())


if __name__ == "__main__":
    sys.exit(main())
