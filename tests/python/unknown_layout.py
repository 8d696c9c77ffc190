# An interpreter with another layout than it reports: walks are off, with a reason.  unknown_layout.py LIBRARY CASE
import ctypes, sys

from witness import OFF, ROOM, free, why_off

out = ctypes.create_string_buffer(ROOM)


def walk():
    size = free.witness_walk(out, ROOM, 10)
    return out.raw[:size]


def offers(name, instead):
    free.witness_find_wrong.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    return free.witness_find_wrong(name, ctypes.addressof(instead) if instead is not None else None)


def too_old():
    assert sys.version_info < (3, 8)
    assert free.witness_find() == 1
    return "this version of Python is not known, CPython 3.8 to 3.14 are"


def no_interpreter():
    assert offers(b"PyGILState_GetThisThreadState", None) == 0
    assert walk() == b"reason 2\n", walk()
    return None


def wrong_code_type():
    kept = ctypes.create_string_buffer(1024)
    assert offers(b"PyCode_Type", kept) == 1
    assert kept.raw == bytes(1024), "what is no type was written to"
    return "self-check: the type of code objects is not what it should be"


def type_of_frames():
    # a type, but not that of code objects: its frees must not be counted
    kind = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "PyFrame_Type"))
    kept = ctypes.string_at(kind, 256)
    free.witness_find_wrong.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    assert free.witness_find_wrong(b"PyCode_Type", kind) == 1
    assert ctypes.string_at(kind + 24, 200) == kept[24:224]
    return "self-check: the type of code objects is not what it should be"


def wrong_text_type():
    assert offers(b"PyUnicode_Type", ctypes.create_string_buffer(1024)) == 1
    walk()
    return "self-check: the file of a code object is not a text"


def missing_runtime():
    assert offers(b"_PyRuntime", None) == 1
    return "this Python does not export what is needed"


def wrong_cookie():
    if sys.version_info < (3, 13):
        return True
    assert offers(b"_PyRuntime", ctypes.create_string_buffer(4096)) == 1
    return "this Python does not publish its offsets"


def another_offset():
    if sys.version_info < (3, 13):
        return True
    runtime = ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")
    copy = ctypes.create_string_buffer(ctypes.string_at(ctypes.addressof(runtime), 1024), 1024)
    at = 184 if sys.version_info < (3, 14) else 208
    assert copy[at] == b"\x48"
    copy[at] = b"\x50"
    assert offers(b"_PyRuntime", copy) == 1
    return "this Python publishes other offsets than its release has"


def next_version():
    if sys.version_info < (3, 11):
        return True
    assert offers(b"Py_Version", ctypes.c_ulong(0x030F00F0)) == 1
    return "this version of Python is not known, CPython 3.8 to 3.14 are"


def other_version():
    """Another version's layout on this interpreter: the self-check must detect it before a first walk."""
    if not (3, 11) <= sys.version_info < (3, 13):
        return True
    assert offers(b"Py_Version", ctypes.c_ulong(0x030B00F0 if sys.version_info >= (3, 12) else 0x030C00F0)) == 1
    got = walk()
    assert why_off() and why_off().startswith("self-check: ") or got == b"reason 4\n", (why_off(), got)
    return why_off()


expected = globals()[sys.argv[2]]()
if expected is not True:
    assert why_off() == expected, why_off()
    if expected:
        assert walk() == b"reason %d\n" % OFF, walk()
print("unknown layout: %s: %s" % (sys.argv[2], expected))
