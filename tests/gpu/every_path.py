"""Takes PyTorch's allocator through its paths, while PyTorch records its own history of them.

Sizes that are not multiples, streams, blocks that another stream still uses when they are freed, a private
pool of a CUDA graph, emptied caches, running out of memory. Writes device 0's trace as JSON to the file that
HISTORY_OUT names: [[action, address, bytes, stream]]. The address of an oom is the number of free bytes.
With "expandable" in PYTORCH_CUDA_ALLOC_CONF it uses expandable segments. Does not depend on gpuprof.
"""
import json
import os
import random

import torch


def churn(count, most, keep):
    """Allocates and frees in an order that repeats from run to run."""
    held = []
    for _ in range(count):
        held.append(torch.empty(random.randrange(1, most), dtype=torch.uint8, device="cuda"))
        if len(held) > keep:
            held.pop(random.randrange(len(held)))
    return held


def use_on_two_streams():
    side = torch.cuda.Stream()
    for _ in range(20):
        x = torch.ones(1_500_001, device="cuda")
        with torch.cuda.stream(side):
            y = x * 2
            z = torch.zeros(1000, device="cuda")
        x.record_stream(side)
        del x, y, z
    torch.cuda.synchronize()


def capture():
    x = torch.ones(333_333, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 3
        z = y + 1
        del y
    graph.replay()
    torch.cuda.synchronize()
    return graph, z


def run_out():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, (2 << 30) / total))
    try:
        torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
        print("no limit")
    except torch.OutOfMemoryError:
        print("out of memory")
    torch.cuda.set_per_process_memory_fraction(1.0)


def main():
    random.seed(1)
    first = torch.zeros(1, device="cuda")  # a launch: the recorder can attach a tracker from here on
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=1 << 20)
    held = churn(300, 3_000_000, 40)
    use_on_two_streams()
    graph, result = capture()
    del held[::2]
    torch.cuda.empty_cache()
    held += churn(100, 40_000_000, 5)
    run_out()
    print(f"sum {float(result.sum()):.1f}, {len(held)} kept")
    del graph, result
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    path = os.environ.get("HISTORY_OUT")
    if path:
        with open(path, "w") as f:
            json.dump([[e["action"], e.get("device_free", e.get("addr", 0)), e["size"], e["stream"]]
                       for e in trace], f)


if __name__ == "__main__":
    main()
