# Allocates below a chain of Python functions and, below these, of C functions: mixed_stack.py LIBRARY NAME [PYTHON [C]]
# Prints what an event costs, under NAME (see mixed_stack.c). Under the preload on the fake driver.
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
python_frames = int(sys.argv[3]) if len(sys.argv) > 3 else 20
c_frames = int(sys.argv[4]) if len(sys.argv) > 4 else 14

# functions of their own, each in memory of its own, as in a program; the module's own frame is the outermost
chain = ["def f%d(name, levels):\n    result = f%d(name, levels)\n    return result\n" % (k, k + 1) for k in range(python_frames - 2)]
chain.append("def f%d(name, levels):\n    return time_it(name, levels)\n" % (python_frames - 2))
scope = {"time_it": library.mixed_stack_time}
exec("\n".join(chain), scope)
library.mixed_stack_open()
scope["f0"](sys.argv[2].encode(), c_frames)
