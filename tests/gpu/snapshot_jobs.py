"""Ordinary PyTorch jobs that write the result of torch.cuda.memory._snapshot() at several points.

snapshot_jobs.py KIND: eager, expandable, graphs, streams, lengths, kv_cache or trees. The n-th entry of
the list in SNAPSHOTS_OUT is the n-th snapshot of the process. The job does not depend on gpuprof.
"""
import json
import os
import random
import sys

KINDS = ("eager", "expandable", "graphs", "streams", "lengths", "kv_cache", "trees")
kind = sys.argv[1] if len(sys.argv) > 1 else ""
if kind not in KINDS:
    sys.exit(f"snapshot_jobs: KIND is one of {', '.join(KINDS)}")
if kind == "expandable":
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch
import torch.nn as nn

from gpt_train import GPT, VOCABULARY

taken = []
SEGMENT_KEYS = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
                "segment_type", "segment_pool_id", "is_expandable")
BLOCK_KEYS = ("address", "size", "requested_size", "state")


def look():
    """Takes one snapshot; the job allocates no GPU memory between it and its figures."""
    segments = [{**{k: s[k] for k in SEGMENT_KEYS if k in s},
                 "blocks": [{k: b[k] for k in BLOCK_KEYS} for b in s["blocks"]]}
                for s in torch.cuda.memory._snapshot()["segments"]]
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    taken.append({"segments": segments, "free_bytes": free, "total_bytes": total,
                  "stats": {k: v for k, v in stats.items() if isinstance(v, int)}})


def tokens(batch, length):
    return torch.randint(VOCABULARY, (batch, length), device="cuda")


def train(steps):
    model = GPT(4, 256, 256, [torch.device("cuda")])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loss = model(tokens(4, 256), tokens(4, 256))
        look()
        loss.backward()
        look()
        optimizer.step()
        optimizer.zero_grad()
        look()


def graphs():
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    x = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    look()
    first, second, third = (torch.cuda.CUDAGraph() for _ in range(3))
    with torch.cuda.graph(first):
        kept = model(x) * 2
    look()
    with torch.cuda.graph(second, pool=first.pool()):
        more = [model(kept) for _ in range(3)]
    with torch.cuda.graph(third):
        alone = (x @ x.T).softmax(-1)
    look()
    for graph in (first, second, third):
        graph.replay()
    del more
    look()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        own = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
    look()
    del own, alone, third
    torch.cuda.empty_cache()
    look()
    print(round(float(kept.abs().sum()), 1) > 0)


def streams():
    side = [torch.cuda.Stream() for _ in range(3)]
    kept = []
    for turn in range(20):
        stream = side[turn % 3]
        made = torch.full((1 << (16 + turn % 7),), 1.0, device="cuda")
        small = torch.ones(300 + turn, device="cuda")
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            made.add_(1)
            kept.append(made * 2)
            if turn % 4 == 0:
                kept.pop(0)
        made.record_stream(stream)
        small.record_stream(side[(turn + 1) % 3])
        small.record_stream(stream)
        del made, small
        if turn % 3 == 0:
            look()
    torch.cuda.synchronize()
    look()
    torch.empty(1, device="cuda")
    look()


def lengths():
    model = nn.Sequential(nn.Embedding(VOCABULARY, 256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    draw = random.Random(1)
    held = []
    for step in range(24):
        loss = model(tokens(draw.randint(1, 6), draw.randint(8, 900))).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        held.append(torch.empty(draw.randint(1, 3_000_000), device="cuda"))
        if draw.random() < 0.5:
            held.pop(draw.randrange(len(held)))
        if step % 4 == 0:
            look()
        if step == 13:
            torch.cuda.empty_cache()
            look()


def kv_cache():
    heads, width = 8, 64
    cache = [[] for _ in range(6)]
    with torch.no_grad():
        weight = torch.randn(heads * width, 3 * heads * width, device="cuda")
        for token in range(60):
            x = torch.randn(4, 1, heads * width, device="cuda")
            for layer, kept in enumerate(cache):
                q, k, v = (x @ weight).chunk(3, dim=-1)
                kept[:] = [torch.cat([old, new], 1) for old, new in zip(kept, (k, v))] or [k.clone(), v.clone()]
                x = (q @ kept[0].transpose(1, 2)).softmax(-1) @ kept[1]
            if token % 15 == 0:
                look()
            if token == 40:
                del cache[2][:], cache[4][:]
                look()
    look()


def trees():
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
    step = torch.compile(model, mode="reduce-overhead")
    for batch in (32, 32, 32, 32, 48, 48, 48, 48):
        torch.compiler.cudagraph_mark_step_begin()
        model.zero_grad()
        step(torch.randn(batch, 256, device="cuda")).sum().backward()
        look()


torch.manual_seed(0)
{"eager": lambda: train(3), "expandable": lambda: train(3), "graphs": graphs, "streams": streams,
 "lengths": lengths, "kv_cache": kv_cache, "trees": trees}[kind]()
with open(os.environ["SNAPSHOTS_OUT"], "w") as out:
    json.dump(taken, out)
print("snapshots", len(taken))
