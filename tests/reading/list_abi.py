"""Prints what programs that load libgpuprof-read.so rely on: list_abi.py BUILD HEADER...

The version of the interface, the exported functions and tables, and the sizes of structs. Ends with 1 if the
library does not export exactly what the headers declare.
"""
import ctypes
import os
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def declared(headers):
    """Names of the functions and tables that the headers declare. Those with a body are inline."""
    text = output(os.environ.get("CC", "cc"), "-std=c17", "-E", "-P", "-Ilibgpuprof",
                  *[word for header in headers for word in ("-include", header)], "-x", "c", os.devnull)
    depth, flat = 0, []
    for part in re.split(r"([{}])", text):
        depth += {"{": 1, "}": -1}.get(part, 0)
        flat.append("{}" if part == "}" and depth == 0 else part if depth == 0 and part not in "{}" else "")
    found = [re.search(r"\b(gp_\w+)\s*[([]", part) for part in re.split(r"[;}]", "".join(flat))
             if not re.search(r"\btypedef\b|\{|\bstatic\b", part)]
    return {name.group(1) for name in found if name}


def main():
    build, headers = sys.argv[1], sys.argv[2:]
    path = os.path.join(build, "libgpuprof-read.so.0")
    kinds = {"T": "function", "D": "table", "R": "table", "B": "table"}
    symbols = [line.split()[1:] for line in output("nm", "-D", "--defined-only", path).splitlines()]
    library = ctypes.CDLL(os.path.abspath(path))
    with open("libgpuprof/read/api_structs.def", encoding="ascii") as table:
        structs = re.findall(r"^STRUCT\((\w+)\)", table.read(), re.MULTILINE)
    print("interface %d" % library.gp_api_version())
    for kind, name in sorted((kinds.get(letter, letter), name) for letter, name in symbols):
        print(kind, name)
    for name in structs:
        print("struct %s %d" % (name, library.gp_api_struct_bytes(name.encode())))
    exported, wanted = {name for _, name in symbols}, declared(headers)
    for name in sorted(exported ^ wanted):
        print("%s: %s" % (name, "exported, not declared" if name in exported else "declared, not exported"),
              file=sys.stderr)
    sys.exit(exported != wanted)


if __name__ == "__main__":
    main()
