"""Captures CUDA graphs: graph_jobs.py WHAT OUT. The job does not depend on gpuprof.

broken, clean: by the driver alone, without PyTorch. OUT gets the functions whose captures fail, with the calls that may
be named for each, or the number of nodes of each graph.
own, shared_large_first, shared_small_first, trees, expandable, nested: layouts of private pools. OUT gets the bytes of
each pool in PyTorch's own snapshot at the end, and the pool, kernels and replays of each graph in the order of capture.
"""
import ctypes
import json
import os
import sys
import threading

what, out = sys.argv[1:3]
MIB = 1 << 20


def leave(result):
    """Ends with all graphs alive."""
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.stdout.flush()
    os._exit(0)


# ---- by the driver alone ----

GLOBAL, THREAD, RELAXED = range(3)
cuda = ctypes.CDLL("libcuda.so.1")


def must(result):
    if result != 0:
        raise RuntimeError(f"CUresult {result}")


def made(call, *arguments):
    handle = ctypes.c_void_p()
    must(call(ctypes.byref(handle), *arguments))
    return handle


class Driver:
    def __init__(self):
        must(cuda.cuInit(0))
        self.context = made(cuda.cuDevicePrimaryCtxRetain, 0)
        must(cuda.cuCtxSetCurrent(self.context))
        self.stream, self.side, self.blocking = (made(cuda.cuStreamCreate, flags) for flags in (1, 1, 0))
        self.event, self.uncaptured = (made(cuda.cuEventCreate, 2) for _ in range(2))
        self.memory = made(cuda.cuMemAlloc_v2, ctypes.c_size_t(MIB))

    def work(self, stream=None):
        return cuda.cuMemsetD8Async(self.memory, ctypes.c_ubyte(0), ctypes.c_size_t(4096), stream or self.stream)

    def begin(self, mode=GLOBAL, stream=None):
        must(cuda.cuStreamBeginCapture_v2(stream or self.stream, mode))

    def end(self, stream=None):
        """The graph, or the error."""
        graph = ctypes.c_void_p()
        result = cuda.cuStreamEndCapture(stream or self.stream, ctypes.byref(graph))
        return result or graph

    def in_thread(self, call):
        def run():
            must(cuda.cuCtxSetCurrent(self.context))
            call()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    def allocate(self):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(MIB))

    def join_side(self):
        must(cuda.cuEventRecord(self.event, self.stream))
        must(cuda.cuStreamWaitEvent(self.side, self.event, 0))
        must(self.work(self.side))

    # ten calls that break a capture

    def synchronizes_the_stream(self):
        cuda.cuStreamSynchronize(self.stream)

    def synchronizes_the_context(self):
        cuda.cuCtxSynchronize()

    def queries_the_stream(self):
        cuda.cuStreamQuery(self.stream)

    def queries_a_captured_event(self):
        must(cuda.cuEventRecord(self.event, self.stream))
        cuda.cuEventQuery(self.event)

    def waits_for_a_captured_event(self):
        must(cuda.cuEventRecord(self.event, self.stream))
        cuda.cuEventSynchronize(self.event)

    def allocates_here(self):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(MIB))

    def allocates_on_another_thread(self):
        self.in_thread(self.allocate)

    def depends_on_uncaptured_work(self):
        cuda.cuStreamWaitEvent(self.stream, self.uncaptured, 0)

    def leaves_a_stream_unjoined(self):
        self.join_side()

    def uses_the_legacy_stream(self):
        cuda.cuMemsetD8Async(self.memory, ctypes.c_ubyte(0), ctypes.c_size_t(4096), None)


BREAKERS = {  # the call, and the innermost Python function
    "synchronizes_the_stream": ("cuStreamSynchronize", "synchronizes_the_stream"),
    "synchronizes_the_context": ("cuCtxSynchronize", "synchronizes_the_context"),
    "queries_the_stream": ("cuStreamQuery", "queries_the_stream"),
    "queries_a_captured_event": ("cuEventQuery", "queries_a_captured_event"),
    "waits_for_a_captured_event": ("cuEventSynchronize", "waits_for_a_captured_event"),
    "allocates_here": ("cuMemAlloc_v2", "allocates_here"),
    "allocates_on_another_thread": ("cuMemAlloc_v2", "allocate"),
    "depends_on_uncaptured_work": ("cuStreamWaitEvent", "depends_on_uncaptured_work"),
    "leaves_a_stream_unjoined": ("cuStreamEndCapture", "end"),
    "uses_the_legacy_stream": ("cuMemsetD8Async", "uses_the_legacy_stream"),
}


def broken():
    d = Driver()
    must(cuda.cuEventRecord(d.uncaptured, d.side))
    for name in BREAKERS:
        stream = d.blocking if name == "uses_the_legacy_stream" else d.stream
        d.begin(THREAD if stream is d.blocking else GLOBAL, stream)
        must(d.work(stream))
        getattr(d, name)()
        if not isinstance(d.end(stream), int):
            raise RuntimeError(f"{name} does not break a capture")
    leave(list(BREAKERS.values()))


def clean():
    """Five captures, each beside a call that breaks none."""
    d = Driver()
    graphs = []

    def keep():
        graph = d.end()
        if isinstance(graph, int):
            raise RuntimeError(f"capture {len(graphs)}: CUresult {graph}")
        graphs.append(graph)

    cuda.cuStreamBeginCapture_v2(None, GLOBAL)  # refused: the legacy stream cannot be captured
    d.begin()
    for _ in range(10):
        must(d.work())
    keep()
    d.begin()
    d.join_side()
    must(cuda.cuEventRecord(d.event, d.side))
    must(cuda.cuStreamWaitEvent(d.stream, d.event, 0))
    keep()
    d.begin(RELAXED)
    d.allocate()
    must(d.work())
    keep()
    d.begin(THREAD)
    d.in_thread(d.allocate)
    must(d.work())
    keep()
    d.begin()
    block = made(cuda.cuMemAllocAsync, ctypes.c_size_t(MIB), d.stream)
    must(d.work())
    must(cuda.cuMemFreeAsync(block, d.stream))
    keep()
    counts = []
    for graph in graphs:
        count = ctypes.c_size_t()
        must(cuda.cuGraphGetNodes(graph, None, ctypes.byref(count)))
        counts.append(count.value)
        launched = made(cuda.cuGraphInstantiateWithFlags, graph, ctypes.c_ulonglong(0))
        must(cuda.cuGraphLaunch(launched, d.stream))
    must(cuda.cuStreamSynchronize(d.stream))
    leave(counts)


# ---- layouts of private pools ----


def layouts():
    if what == "expandable":
        os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    import torch
    kept, known = [], []

    def capture(mib, replays, pool=None, nested=None):
        graph = torch.cuda.CUDAGraph()
        x = torch.ones(mib * MIB // 4, device="cuda")
        (x * 2).add(x)  # loads the kernels
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=pool):
            y = x * 2
            y = y + x
            if nested:
                with torch.cuda.use_mem_pool(nested):
                    kept.append(torch.empty(3 * mib * MIB // 8, device="cuda"))
            kept.append(y)
        for _ in range(replays):
            graph.replay()
        kept.extend((graph, x))
        known.append({"pool": list(graph.pool()), "kernels": 2, "replays": replays})
        return graph.pool()

    torch.ones(1, device="cuda").mul_(2)  # details of the allocator begin with a launch
    torch.cuda.synchronize()
    if what == "trees":
        model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))).cuda()
        compiled = torch.compile(model, mode="reduce-overhead")
        for _ in range(6):
            model.zero_grad()  # gradients lie in the graph's memory, which the next replay overwrites
            torch.compiler.cudagraph_mark_step_begin()
            compiled(torch.randn(64, 512, device="cuda")).sum().backward()
        known = None
    elif what.startswith("shared"):
        sizes = (64, 8) if what == "shared_large_first" else (8, 64)
        capture(sizes[1], 3, capture(sizes[0], 2))
    elif what == "nested":
        if not hasattr(torch.cuda, "use_mem_pool"):
            with open(out.removesuffix(".json") + ".skip", "w", encoding="utf-8") as file:
                print("this PyTorch has no MemPool", file=file)
            leave(None)
        pool = torch.cuda.MemPool()
        kept.append(pool)
        capture(24, 2, nested=pool)
    else:
        capture(40, 3)
        capture(12, 0)
    torch.cuda.synchronize()
    pools = {}
    for segment in torch.cuda.memory._snapshot()["segments"]:
        key = ".".join(map(str, segment["segment_pool_id"]))
        pools[key] = pools.get(key, 0) + segment["total_size"]
    by_pool = getattr(torch.cuda.memory, "reserved_bytes_by_private_pools", None)
    leave({"pools": pools, "graphs": known, "reserved": repr(by_pool()) if by_pool else None})


{"broken": broken, "clean": clean}.get(what, layouts)()
