"""Allocates with cuMemAllocAsync in captures: one that fails, one whose graph is destroyed, and one whose graph is
launched. The memory of the last lives until the job frees its address. Prints the free memory after each.
"""
import ctypes

BYTES = 64 << 20
UNSUPPORTED, INVALIDATED = 900, 901
cuda = ctypes.CDLL("libcuda.so.1")
context, stream, graph, instance = (ctypes.c_void_p() for _ in range(4))
address = ctypes.c_uint64()


def call(name, *arguments, expected=0):
    result = getattr(cuda, name)(*arguments)
    assert result == expected, (name, result)


def print_free(what):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuStreamSynchronize", stream)
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    print(what, free.value, flush=True)


def capture(is_broken=False):
    call("cuStreamBeginCapture_v2", stream, 0)
    call("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(BYTES), stream)
    if is_broken:
        call("cuStreamSynchronize", stream, expected=UNSUPPORTED)
    call("cuStreamEndCapture", stream, ctypes.byref(graph), expected=INVALIDATED if is_broken else 0)


call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuStreamCreate", ctypes.byref(stream), 1)
print_free("before")
capture(is_broken=True)
print_free("failed")
capture()
call("cuGraphDestroy", graph)
print_free("destroyed")
capture()
call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_uint64(0))
call("cuGraphLaunch", instance, stream)
call("cuGraphDestroy", graph)
call("cuGraphExecDestroy", instance)
print_free("launched")
call("cuMemFreeAsync", address, stream)
print_free("freed")
