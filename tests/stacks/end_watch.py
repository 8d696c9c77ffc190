# Restores the original function that frees code objects, while a code object that the recorder met is alive. Makes new
# ones at its address until the recorder reports that it noticed, or for 100 seconds.  end_watch.py STDERR
import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
slot = ctypes.c_void_p.from_address(id(type(sys._getframe().f_code)) + 48)  # tp_dealloc
interpreters_own = slot.value
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
scope = {"allocate": lambda: cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1024)), "end": lambda: None}
SOURCE = "def made():\n    allocate()\n    end()\nmade()\ndel made\n"


def end():
    assert slot.value != interpreters_own
    slot.value = interpreters_own


exec(SOURCE, dict(scope, end=end))
until = time.monotonic() + 100
while "has ended the watch" not in open(sys.argv[1]).read() and time.monotonic() < until:
    exec(SOURCE, scope)
exec(SOURCE, scope)
