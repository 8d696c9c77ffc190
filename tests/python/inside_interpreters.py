# Walks inside sub-interpreters, in threads there, and in one inside another. Each sees only its own frames, and the
# main interpreter sees its own again afterwards.  inside_interpreters.py LIBRARY
import os, sys

from witness import check, finish, find

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import sys
sys.argv = ["inside", %(library)r]
sys.path.insert(0, %(here)r)
import os, threading
from witness import check, wrong

def innermost(kind):
    check(kind)

def in_a_function(kind):
    innermost(kind)

in_a_function("inside")
thread = threading.Thread(target=in_a_function, args=("in a thread inside",))
thread.start()
thread.join()
%(more)s
in_a_function("inside again")
# on the C stack lie the loops of the outer interpreters as well
wrong = [w for w in wrong if w[1] != "loops"]
os.write(%(into)d, b"%%d " %% len(wrong) + repr(wrong[:2])[:500].encode() + b"\\n")
"""
# one that enters another
OUTER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.%(create)s
interpreters.run_string(other, %(inner)r)
interpreters.destroy(other)
"""


def creation():
    if sys.version_info >= (3, 13):
        return 'create("legacy")'
    return "create()" if sys.version_info < (3, 9) else "create(isolated=False)"


def run_inside(is_nested):
    out, into = os.pipe()
    words = {"library": sys.argv[1], "here": os.path.dirname(os.path.abspath(__file__)), "into": into, "more": ""}
    code = INNER % words
    if is_nested:
        code = INNER % dict(words, more=OUTER % {"create": creation(), "inner": code})
    interpreter = eval("interpreters." + creation())
    check("main beside another")
    interpreters.run_string(interpreter, code)
    check("main behind another")
    interpreters.destroy(interpreter)
    os.close(into)
    return os.fdopen(out, "rb").read().decode().splitlines()


find()
failed = 0
for is_nested in False, True:
    lines = run_inside(is_nested)
    print("inside_interpreters:", lines)
    failed |= len(lines) != 1 + is_nested or not all(line.startswith("0 ") for line in lines)
if failed:
    sys.exit(1)
finish("inside_interpreters", 4)
