"""Prints a C program that compiles only if python/gpuprof/_layout.py fits the headers.

check_layout.py PYTHON-MODULE-FOLDER: each struct's size, each field's place and size, each number.
"""
import ctypes
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("layout", sys.argv[1] + "/_layout.py")
layout = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layout)


def equal(expression, number):
    print('_Static_assert((%s) == %s, "%s is not %s");' % (expression, number, expression.replace('"', ""), number))


print("#include <stddef.h>\n#include <gpuprof.h>")
for name, struct in layout.structs().items():
    names = getattr(struct, "_c_field", {})
    equal("sizeof(struct %s)" % name, ctypes.sizeof(struct))
    for field, *_ in struct._fields_:
        place = getattr(struct, field)
        of = names.get(field, field)
        equal("offsetof(struct %s, %s)" % (name, of), place.offset)
        equal("sizeof ((struct %s *)0)->%s" % (name, of), place.size)
for status in layout.Status:
    equal("GP_" + status.name, int(status))
numbers = {
    "GP_CURVE_DRIVER": layout.CURVE["driver"], "GP_CURVE_RESERVED": layout.CURVE["reserved"],
    "GP_CURVE_ALLOCATED": layout.CURVE["allocated"], "GP_CURVES": layout.CURVES, "GP_CURVE_PINNED": layout.PINNED,
    "GP_KINDS": layout.KINDS, "GP_DEVICES": layout.DEVICES, "GP_DEVICE_UNKNOWN": layout.DEVICE_UNKNOWN,
    "GP_MEMORY_ROLES": layout.ROLES, "GP_SPACES": layout.SPACES, "GP_FRAMES_MAX": layout.FRAMES_MAX,
    "GP_ROLE_MODULES": layout.ROLE_MODULES, "GP_ROLE_MODULE_MAX": layout.ROLE_MODULE_MAX,
    "GP_ROW_BLOCK": layout.BLOCK, "GP_ROW_SEGMENT": layout.SEGMENT, "GP_ROW_OUTSIDE": layout.OUTSIDE,
    "GP_STATE_ALLOCATED": layout.ALLOCATED, "GP_STATE_PENDING": layout.PENDING, "GP_AT_PEAK": layout.AT_PEAK,
    "GP_STEP_SOURCES": len(layout.STEP_SOURCES), "GP_API_MAJOR": layout.API_MAJOR,
}
numbers.update(("GP_WHEN_" + name.upper(), number) for name, number in layout.WHEN.items())
numbers.update(("GP_KERNELS_BY_" + name.upper(), number) for name, number in layout.KERNELS_BY.items())
numbers.update(("GP_STACK_" + name.upper(), number) for name, number in layout.STACK_HOW.items())
for name, number in numbers.items():
    equal(name, number)
for name, number in (("GP_BYTES_UNKNOWN", layout.BYTES_UNKNOWN), ("GP_ROW_NO_SEGMENT", layout.NO_SEGMENT)):
    equal(name, "%du" % number)
