# Sub-interpreters one after the other. Their code objects reuse addresses, in some versions with the same version
# numbers. Two of them must have different identities.  interpreters.py LIBRARY [INTERPRETERS]
import ctypes, os, sys

from witness import find, free, why_off

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

find()
count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
identity_at = free.witness_identity_at
identity_at.argtypes, identity_at.restype = [ctypes.c_void_p], ctypes.c_uint64
CODE = """
def %s(): return %d
import os
os.write(%d, b"%%d" %% id(%s.__code__))
"""


def create(is_isolated):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if is_isolated else "legacy")
    if sys.version_info < (3, 9):
        return interpreters.create()
    return interpreters.create(isolated=is_isolated)


def one(n, is_isolated):
    """Address and identity of a function that only this interpreter has, while it is alive."""
    interpreter = create(is_isolated)
    out, into = os.pipe()
    name = "f%06d" % n
    interpreters.run_string(interpreter, CODE % (name, n, into, name))
    address = int(os.read(out, 100))
    identity = identity_at(address)
    interpreters.destroy(interpreter)
    os.close(out)
    os.close(into)
    return address, identity


failed = 0
for is_isolated in False, True:
    addresses, known, wrong = set(), set(), 0
    for n in range(count):
        address, identity = one(n, is_isolated)
        addresses.add(address)
        wrong += identity in known
        known.add(identity)
    print("interpreters: %d %s ones, functions at %d addresses, %d wrong" % (
        count, "isolated" if is_isolated else "legacy", len(addresses), wrong))
    failed |= wrong > 0
sys.exit(1 if failed or why_off() else 0)
