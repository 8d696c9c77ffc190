"""Circles of files and of sub-rooms that need each other's symbols, room by room: circles.py BUILD

A file needs another one of its room or its sub-rooms if its object has an undefined symbol that the
other one defines. Files that reach each other are one circle. Prints a line for each circle with
more than MOST files, and, in the rooms LAYERED, for each circle of sub-rooms.
"""
import os
import subprocess
import sys

MOST = 4
ROOMS = {"interpose": "preload", "libgpuprof/record": "preload", "libgpuprof/state": "preload",
         "libgpuprof/format": "preload", "libgpuprof/read": "read", "libgpuprof/analyze": "read",
         "tools": "tool"}
LAYERED = {"libgpuprof/read", "libgpuprof/analyze", "tools"}


def symbols_of(paths):
    """For each object, the symbols that it defines and those that it needs."""
    found = {path: (set(), set()) for path in paths}
    for line in subprocess.run(["nm", "-A", "--format=posix", *paths], check=True, capture_output=True,
                               text=True).stdout.splitlines() if paths else ():
        path, name, kind = line.split()[:3]
        defined, needed = found[path[:-1]]
        (needed if kind == "U" else defined if kind.isupper() else set()).add(name)
    return found


def needs_of(objects):
    """For each file, the files of the room that it needs."""
    symbols = symbols_of(list(objects.values()))
    found = {name: symbols[path] for name, path in objects.items()}
    owner = {symbol: name for name, (defined, _) in found.items() for symbol in defined}
    return {name: {owner[symbol] for symbol in needed if symbol in owner} - {name}
            for name, (_, needed) in found.items()}


def reached(needs, name):
    seen, todo = set(), [name]
    while todo:
        for other in needs[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


def circles(needs):
    reach = {name: reached(needs, name) for name in needs}
    return {frozenset(other for other in reach[name] if name in reach[other])
            for name in needs if name in reach[name]}


def sources_of(room):
    """The C files of a room, by their paths within it."""
    return sorted(os.path.relpath(os.path.join(folder, name), room)
                  for folder, _, names in os.walk(room) for name in names if name.endswith(".c"))


def needs_of_rooms(needs):
    """For each sub-room, those that its files need. Files at the top of the room count as one more."""
    found = {}
    for name, others in needs.items():
        here = os.path.dirname(name)
        found.setdefault(here, set()).update(map(os.path.dirname, others))
    return {here: others - {here} for here, others in found.items()}


def main(build):
    status = 0
    for room, kind in ROOMS.items():
        paths = {name: os.path.join(build, kind, room, name + ".o") for name in sources_of(room)}
        needs = needs_of({name: path for name, path in paths.items() if os.path.exists(path)})
        if not needs:
            print(f"{room}:1: no objects in {build}/{kind}, expected: make all before this check")
            status = 1
        for circle in circles(needs):
            if len(circle) > MOST:
                print(f"{room}/{min(circle)}:1: {len(circle)} files need each other: "
                      f"{' '.join(sorted(circle))}, expected: at most {MOST}")
                status = 1
        for circle in circles(needs_of_rooms(needs)) if room in LAYERED else ():
            print(f"{room}:1: sub-rooms need each other: {' '.join(sorted(name or '(top)' for name in circle))}, "
                  "expected: one below the other")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
