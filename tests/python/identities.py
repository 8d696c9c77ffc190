# Functions that are made and dropped, so that their addresses are reused. Must have different identities.
# identities.py LIBRARY [FUNCTIONS]
import collections, ctypes, sys

from witness import find, free, why_off

find()
count = int(sys.argv[2]) if len(sys.argv) > 2 else 30000
pair = (ctypes.c_uint64 * 2)()
identify = free.witness_identity


def same_names(n):
    # one name, one file, one first line; lines of the body differ
    exec("def f(a, b):\n%s  c = a\n%s  identify(pair)\n%s  return c\nf(1, 2)" % (
        "\n" * (n % 5), "\n" * (n // 5 % 7), "\n" * (n // 35 % 11)), scope)
    return scope["f"].__code__


def other_names(n):
    exec("def f%d(a, b):\n  identify(pair)\n  return a\nf%d(1, 2)" % (n, n), scope)
    return scope.pop("f%d" % n).__code__


def constructors(n):
    fields = ["a%d" % k for k in range(n % 9)]
    exec("class C:\n def __init__(self, %s):\n%s  identify(pair)\nC(%s)" % (
        ", ".join(fields), "".join("  self.%s = %s\n" % (f, f) for f in fields), ", ".join("1" for f in fields)), scope)
    return scope["C"].__init__.__code__


def last_line_only(n):
    # long tables that differ only in their last entries
    exec("def f(a):\n" + "  b = a\n" * 30 + "\n" * (n % 90) + "  identify(pair)\nf(1)", scope)
    return scope["f"].__code__


def middle_lines(n):
    # long tables of equal length that differ only in the middle
    gap = n % 50
    exec("def f(a):\n" + " b = a\n" * 25 + "\n" * gap + " b = a\n" * 12 + " identify(pair)\n" + "\n" * (49 - gap) +
         " b = a\n" * 25 + "f(1)", scope)
    return scope.pop("f").__code__


def other_files(n):
    # as in cells of a notebook
    exec(compile("def f(a):\n  identify(pair)\nf(1)\n", "/tmp/cells_7/%06d.py" % n, "exec"), scope)
    return scope.pop("f").__code__


def names_of_one_length(n):
    # one shape; only the name differs, and its object's address is reused, too
    exec("def f%06d():\n  identify(pair)\nf%06d()" % (n, n), scope)
    return scope.pop("f%06d" % n).__code__


scope = {"identify": identify, "pair": pair}
failed = 0
for churn in (same_names, other_names, constructors, last_line_only, middle_lines, other_files,
              names_of_one_length):
    known, addresses, wrong = {}, set(), 0
    for n in range(count):
        code = churn(n)
        table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
        # a copy: a kept object would keep the addresses of name, file and table from being reused
        said = repr((code.co_filename, code.co_name, code.co_firstlineno, bytes(table)))
        address, identity = pair[0], pair[1]
        assert address == id(code), "another function was walked"
        addresses.add(address)
        wrong += known.setdefault(identity, said) != said
        del code, table
    print("identities: %s: %d functions at %d addresses, %d wrong" % (churn.__name__, count, len(addresses), wrong))
    failed |= wrong > 0 or len(addresses) > count // 2
sys.exit(1 if failed or why_off() else 0)
