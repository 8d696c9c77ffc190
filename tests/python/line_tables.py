# Compares the lines of all instructions of the standard library: decoder against PyCode_Addr2Line. line_tables.py
# LIBRARY [STEP]: every STEP-th module.
import importlib.util, marshal, os, sys, sysconfig, types

from witness import find, held, why_off


def modules(step):
    root = sysconfig.get_paths()["stdlib"]
    found = []
    for directory, _, files in sorted(os.walk(root)):
        if "site-packages" not in directory and "dist-packages" not in directory:
            found += [os.path.join(directory, f) for f in sorted(files) if f.endswith(".py")]
    return found[::step]


def code_of(path):
    cached = importlib.util.cache_from_source(path)
    try:
        with open(cached, "rb") as f:
            return marshal.loads(f.read()[16:])
    except (OSError, EOFError, ValueError):
        pass
    try:
        with open(path, "rb") as f:
            return compile(f.read(), path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None  # test data with deliberate errors, links without a target


def synthetic():
    """Line steps of unusual sources: far ahead, far back, out of a loop; and no line at all."""
    yield compile("\n" * 100000 + "x = 1\n" + "\n" * 127 + "y = 2\n" + "\n" * 128 + "z = 3", "far", "exec")
    yield compile("f(\n" + "\n" * 300 + "a,\n" + "\n" * 200 + "b)", "back", "exec")
    yield compile("for a in b:\n" + "\n" * 150 + " c\n" + "\n" * 130 + " d if e else\\\n g", "loop", "exec")
    yield compile("with a:\n" + "\n" * 140 + " b\n" + "\n" * 140 + " c", "with", "exec")
    yield compile("x = 1\n" * 20000, "long", "exec")
    yield compile("x = [" + ",\n".join("a%d" % k for k in range(3000)) + "]", "wide", "exec")


def visit(code, totals):
    stride = max(1, len(code.co_code) // 2 // 400)  # long ones take time by the square of their length
    n = held.witness_lines(code, len(code.co_code), stride)
    if n < 0:
        print("wrong line", code.co_filename, code.co_name, "offset", -1 - n)
        totals[2] += 1
    totals[0] += 1
    totals[1] += max(n, 0)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            visit(constant, totals)


find()
totals = [0, 0, 0]
for code in synthetic():
    visit(code, totals)
for path in modules(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    code = code_of(path)
    if code:
        visit(code, totals)
print("lines: %d code objects, %d instructions, %d wrong" % tuple(totals))
sys.exit(1 if totals[2] or totals[1] < 50000 or why_off() else 0)
