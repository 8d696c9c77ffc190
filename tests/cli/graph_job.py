"""Captures CUDA graphs on the fake driver: graph_job.py [broken|clean|lives|pools|late|left]"""
import ctypes
import sys
import threading

from fake_blocks import Table, cuda

GLOBAL, THREAD, RELAXED = range(3)
size = ctypes.c_size_t


def made(call, *arguments):
    handle = ctypes.c_void_p()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


assert cuda.cuInit(0) == 0
context = made(cuda.cuCtxCreate_v2, 0, 0)
module = made(cuda.cuModuleLoadData, b"image")
gemm, relu = (made(cuda.cuModuleGetFunction, module, name) for name in (b"gemm", b"relu"))
stream, side, blocking = (made(cuda.cuStreamCreate, flags) for flags in (1, 1, 0))
event, other_event = (made(cuda.cuEventCreate, 0) for _ in range(2))
memory = made(cuda.cuMemAlloc_v2, size(4096))


def launch(kernel=gemm, on=stream):
    return cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, on, None, None)


def begin(mode=GLOBAL, on=stream):
    assert cuda.cuStreamBeginCapture_v2(on, mode) == 0


def end(on=stream):
    graph = ctypes.c_void_p()
    result = cuda.cuStreamEndCapture(on, ctypes.byref(graph))
    return graph if result == 0 else result


def captured(kernels=1, mode=GLOBAL, on=stream):
    begin(mode, on)
    for _ in range(kernels):
        assert launch(on=on) == 0
    return end(on)


def instantiated(graph):
    return made(cuda.cuGraphInstantiateWithFlags, graph, ctypes.c_ulonglong(0))


# ---- ten calls that break a capture, and ends that fail on their own ----


def in_thread(call, *arguments):
    def run():
        assert cuda.cuCtxSetCurrent(context) == 0
        call(*arguments)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def synchronizes_a_stream():
    cuda.cuStreamSynchronize(stream)


def synchronizes_the_context():
    cuda.cuCtxSynchronize()


def queries_a_stream():
    cuda.cuStreamQuery(side)


def allocates():
    cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_void_p()), size(1 << 20))


def allocates_on_another_thread():
    in_thread(cuda.cuMemAlloc_v2, ctypes.byref(ctypes.c_void_p()), size(1 << 20))


def loads_a_module():
    cuda.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), b"image")


def queries_a_captured_event():
    assert cuda.cuEventRecord(event, stream) == 0
    cuda.cuEventQuery(event)


def waits_for_a_captured_event():
    assert cuda.cuEventRecord(event, stream) == 0
    cuda.cuEventSynchronize(event)


def depends_on_uncaptured_work():
    cuda.cuStreamWaitEvent(stream, other_event, 0)


def merges_two_captures():
    begin(on=side)
    assert cuda.cuEventRecord(event, side) == 0
    cuda.cuStreamWaitEvent(stream, event, 0)
    end(side)


def leaves_a_stream_unjoined():
    assert cuda.cuEventRecord(event, stream) == 0
    assert cuda.cuStreamWaitEvent(side, event, 0) == 0
    assert launch(on=side) == 0


BREAKERS = [synchronizes_a_stream, synchronizes_the_context, queries_a_stream, allocates,
            allocates_on_another_thread, loads_a_module, queries_a_captured_event,
            waits_for_a_captured_event, depends_on_uncaptured_work, merges_two_captures,
            leaves_a_stream_unjoined]


def broken():
    assert cuda.cuEventRecord(other_event, side) == 0
    for breaks in BREAKERS:
        begin()
        assert launch() == 0
        breaks()
        launch()  # refused as a consequence
        assert isinstance(end(), int), breaks
    # the legacy stream would wait for a blocking stream that is captured
    begin(THREAD, blocking)
    uses_the_legacy_stream()
    assert isinstance(end(blocking), int)


def uses_the_legacy_stream():
    launch(on=None)


# ---- captures that succeed ----


def clean():
    """Errors of calls that break no capture, and five captures beside them."""
    assert cuda.cuStreamBeginCapture_v2(None, GLOBAL) == 900
    graphs = [captured(10)]
    begin()
    for kernel in (gemm, relu, gemm):
        assert launch(kernel) == 0
    assert cuda.cuMemsetD8Async(memory, 0, size(64), stream) == 0
    assert cuda.cuMemcpyDtoDAsync_v2(memory, memory, size(64), stream) == 0
    assert cuda.cuLaunchHostFunc(stream, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(), None) == 0
    graphs.append(end())
    begin()  # a second stream that is joined
    assert cuda.cuEventRecord(event, stream) == 0
    assert cuda.cuStreamWaitEvent(side, event, 0) == 0 and launch(on=side) == 0
    assert cuda.cuEventRecord(event, side) == 0 and cuda.cuStreamWaitEvent(stream, event, 0) == 0
    graphs.append(end())
    begin(RELAXED)  # what the other modes forbid
    made(cuda.cuMemAlloc_v2, size(1 << 20))
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(RELAXED))) == 0
    assert cuda.cuStreamQuery(side) == 0 and launch() == 0
    graphs.append(end())
    graphs.append(captured(3, THREAD))
    assert all(isinstance(graph, ctypes.c_void_p) for graph in graphs)
    assert isinstance(end(), int)  # none is under way
    for graph in graphs:
        assert cuda.cuGraphLaunch(instantiated(graph), stream) == 0


def lives():
    """A graph that goes before its exec, two execs, an update, one never launched, one empty."""
    first = captured(4)
    execs = [instantiated(first), instantiated(first)]
    assert cuda.cuGraphDestroy(first) == 0
    for number, graph_exec in enumerate(execs, 2):
        for _ in range(number):
            assert cuda.cuGraphLaunch(graph_exec, stream) == 0
    second = captured(6)
    assert cuda.cuGraphExecUpdate_v2(execs[0], second, None) == 0
    for _ in range(5):
        assert cuda.cuGraphLaunch(execs[0], stream) == 0
    assert launch() == 0
    assert cuda.cuGraphExecDestroy(execs[1]) == 0
    built = made(cuda.cuGraphCreate, 0)
    node = ctypes.c_void_p()
    for _ in range(2):
        assert cuda.cuGraphAddEmptyNode(ctypes.byref(node), built, None, size(0)) == 0
    assert cuda.cuGraphAddChildGraphNode(ctypes.byref(node), built, None, size(0), second) == 0
    assert cuda.cuGraphLaunch(instantiated(built), stream) == 0
    begin()
    made(cuda.cuMemAllocAsync, size(1 << 20), stream)
    end()
    captured(0)


def pools():
    """Two graphs in one private pool, one in another with a nested pool, one without launches."""
    table = ctypes.CDLL("libc10.so")
    get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, size, ctypes.c_uint64, ctypes.c_uint64)(
        (ctypes.c_void_p * 15).in_dll(table, "fake_c10")[11])
    Table.in_dll(table, "fake_c10").allocate(0, 3 << 20)
    assert launch() == 0  # details of the allocator begin with the first launch after a block

    def graph(*wanted):
        begin(RELAXED)
        for pool, count in wanted:
            get(0, count, stream.value, pool)
        assert launch() == 0
        return instantiated(end())

    kept = [graph((7, 30 << 20)), graph((7, 1 << 20)), graph((8, 50 << 20), (9, 12 << 20))]
    for graph_exec in kept[:2]:
        assert cuda.cuGraphLaunch(graph_exec, stream) == 0


def late():
    """The job is in a capture while recording starts."""
    begin()
    assert launch() == 0
    print("captures", flush=True)
    sys.stdin.readline()
    assert launch(relu) == 0
    assert cuda.cuGraphLaunch(instantiated(end()), stream) == 0


def left():
    """Ends in a broken capture, and in one that is not broken."""
    begin()
    cuda.cuCtxSynchronize()
    begin(THREAD, side)


for what in sys.argv[1:] or ("broken", "lives"):
    globals()[what]()
