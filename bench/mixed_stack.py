# Allocates below a chain of Python functions and, below these, of functions in C:
#	mixed_stack.py LIBRARY NAME PYTHON C [main]
# Prints the cost of such an event under NAME (see mixed_stack.c). With `main` it runs in the main thread,
# which has more of the interpreter's frames; otherwise in a thread of its own. Runs under the preload on the
# fake driver.
import _thread
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
python_frames, c_frames = int(sys.argv[3]), int(sys.argv[4])

# distinct functions, each in its own memory, as in a program
chain = ["def f%d(name, levels):\n    f%d(name, levels)\n    return name\n" % (k, k + 1) for k in range(python_frames - 1)]
chain.append("def f%d(name, levels):\n    time_it(name, levels)\n    done.release()\n" % (python_frames - 1))
done = _thread.allocate_lock()
done.acquire()
scope = {"time_it": library.mixed_stack_time, "done": done}
exec("\n".join(chain), scope)
arguments = (sys.argv[2].encode(), c_frames)
if sys.argv[5:]:
    scope["f0"](*arguments)
else:
    _thread.start_new_thread(scope["f0"], arguments)
done.acquire()
