# Prints what a Python frame costs in a walk: python_cost.py LIBRARY. Takes the slope between two depths,
# with warm caches.
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.python_cost.restype = ctypes.c_double
FEW, MANY = 10, 60


# distinct functions, each in its own memory, as in a program
chain = ["def f%d(n, w):\n    a = n + %d\n    if n > 1:\n        return f%d(n - 1, w)\n    return cost(w, 400)\n" % (k, k, k + 1)
         for k in range(MANY)]
scope = {"cost": library.python_cost}
exec("\n".join(chain), scope)
at_depth = scope["f0"]


def slope(with_identity):
    base = 2  # the module and this function
    few, many = at_depth(FEW - base, with_identity), at_depth(MANY - base, with_identity)
    each = (many - few) / (MANY - FEW)
    return each, few - FEW * each


if not library.python_cost_find():
    sys.exit("no Python frames here")
(walk, fixed), (frame, _) = slope(0), slope(1)
print("python_fixed_ns %.2f" % fixed)
print("python_walk_frame_ns %.2f" % walk)
print("python_frame_ns %.2f" % frame)
