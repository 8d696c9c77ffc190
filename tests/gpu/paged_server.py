"""A paged inference server with CUDA graphs, sleep and wake: paged_server.py LIBRARY.

It stands in for vLLM, and its parts have the names that vLLM's have: load_model, profile_run, initialize_kv_cache,
capture_model, execute_model, sleep, wake_up. LIBRARY is libsleeping_pool.so: weights and KV cache lie in pools whose
physical memory is released while the server sleeps. Prints its own bookkeeping as one JSON object: "terms" in bytes,
and "moments", each with its time in nanoseconds of CLOCK_REALTIME, PyTorch's figures, and the bytes that its pools map.
"""
import ctypes
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from note_moment import note

VOCABULARY, WIDTH, LAYERS, HEADS = 16384, 1024, 8, 16
HEAD = WIDTH // HEADS
PAGE = 16  # tokens
PAGES = 2048
CONTEXT = 512  # tokens of a request at most
BATCHES = (1, 2, 4, 8)  # each has a graph
WEIGHTS, CACHE = 1, 2  # tags of the sleeping pool
KIND = torch.float16


class SleepingPool:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for function in (self.library.sleeping_pool_sleep, self.library.sleeping_pool_wake):
            function.restype = ctypes.c_size_t
        self.allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "sleeping_pool_malloc", "sleeping_pool_free")
        self.pools = {tag: torch.cuda.MemPool(self.allocator.allocator()) for tag in (WEIGHTS, CACHE)}

    def use(self, tag):
        self.library.sleeping_pool_tag(tag)
        return torch.cuda.use_mem_pool(self.pools[tag])


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, cache, pages, position):
        """One new token of each request: x is (requests, width), pages (requests, pages of a request)."""
        q, k, v = self.qkv(self.before_attention(x)).split(WIDTH, dim=1)
        if cache is not None:
            page = pages.gather(1, (position // PAGE)[:, None])[:, 0]
            cache[0][page, position % PAGE] = k
            cache[1][page, position % PAGE] = v
            k, v = (part[pages].flatten(1, 2).unflatten(2, (HEADS, HEAD)).transpose(1, 2) for part in cache)
            later = torch.arange(k.shape[2], device=x.device)[None] > position[:, None]
            q = q.unflatten(1, (HEADS, HEAD))[:, :, None]
            scores = (q @ k.transpose(2, 3) * HEAD**-0.5).masked_fill(later[:, None, None], float("-inf"))
            x = x + self.out((scores.softmax(-1) @ v).flatten(1))
        else:
            x = x + self.out(v)
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, position, caches=None, pages=None):
        x = self.word(tokens) + self.place(position)
        for k, layer in enumerate(self.layers):
            x = layer(x, caches and caches[k], pages, position)
        return self.head(self.norm(x))


class Server:
    def __init__(self, path):
        self.pool = SleepingPool(path)
        self.moments, self.terms = [], {}

    def moment(self, name, mapped=None):
        torch.cuda.synchronize()
        self.moments.append({"name": name, "at_ns": time.time_ns(), "allocated": torch.cuda.memory_allocated(),
                             "reserved": torch.cuda.memory_reserved(), "asleep": mapped or 0})
        note()
        time.sleep(0.02)  # moments lie apart, so that a time names one

    def load_model(self):
        with self.pool.use(WEIGHTS):
            with torch.device("cuda"):
                self.model = Model().eval()
        self.terms["weights"] = sum((p.untyped_storage().nbytes() + 511) // 512 * 512
                                    for p in self.model.parameters())
        self.moment("loaded")

    def profile_run(self):
        """The most memory of activations: a whole batch of long requests, without a cache.

        The weights are allocated before. The run keeps its tokens and the workspaces of libraries. These exist at
        the peak, which the logits reach, since the first matrix product needs them.
        """
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        tokens = torch.zeros(max(BATCHES) * CONTEXT, dtype=torch.int64, device="cuda")
        self.model(tokens, tokens)
        torch.cuda.synchronize()
        self.terms["profile_peak"] = torch.cuda.max_memory_allocated() - before
        self.terms["profile_kept"] = torch.cuda.memory_allocated() - before
        del tokens
        torch.cuda.empty_cache()
        self.moment("profiled")

    def initialize_kv_cache(self):
        with self.pool.use(CACHE):
            self.caches = [torch.zeros(2, PAGES, PAGE, WIDTH, dtype=KIND, device="cuda") for _ in range(LAYERS)]
        self.terms["kv_cache"] = sum(cache.untyped_storage().nbytes() for cache in self.caches)
        self.tokens = torch.zeros(max(BATCHES), dtype=torch.int64, device="cuda")
        self.position = torch.zeros_like(self.tokens)
        self.pages = torch.zeros(max(BATCHES), CONTEXT // PAGE, dtype=torch.int64, device="cuda")
        self.moment("cached")

    def step(self, batch):
        scores = self.model(self.tokens[:batch], self.position[:batch], self.caches, self.pages[:batch])
        return scores.argmax(-1)

    def capture_model(self):
        self.graphs, self.results, handle = {}, {}, torch.cuda.graph_pool_handle()
        for batch in reversed(BATCHES):
            self.step(batch)  # libraries allocate before a capture
            torch.cuda.synchronize()
            self.graphs[batch] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[batch], pool=handle):
                self.results[batch] = self.step(batch)
        self.terms["graph_pool"] = sum(s["total_size"] for s in torch.cuda.memory_snapshot()
                                       if tuple(s["segment_pool_id"]) == tuple(handle))
        self.moment("captured")

    def execute_model(self, batch, steps):
        """Each request takes the next free page when its last one is full."""
        free = iter(range(PAGES))
        self.pages.zero_()
        self.tokens.zero_()
        seen = []
        for step in range(steps):
            if step % PAGE == 0:
                taken = [next(free) for _ in range(batch)]
                self.pages[:batch, step // PAGE] = torch.tensor(taken, device="cuda")
            self.position.fill_(step)
            self.graphs[batch].replay()
            self.tokens[:batch] = self.results[batch]
            seen.append(int(self.tokens[0]))
        note()
        return seen

    def sleep(self):
        self.weights = {name: p.data.cpu().pin_memory() for name, p in self.model.named_parameters()}
        torch.cuda.synchronize()
        released = sum(self.pool.library.sleeping_pool_sleep(tag) for tag in (WEIGHTS, CACHE))
        self.terms["asleep"] = released
        self.moment("asleep", released)

    def wake_up(self):
        mapped = sum(self.pool.library.sleeping_pool_wake(tag) for tag in (WEIGHTS, CACHE))
        assert mapped == self.terms["asleep"]
        for name, p in self.model.named_parameters():
            p.data.copy_(self.weights[name])
        for cache in self.caches:
            cache.zero_()
        self.moment("awake")


@torch.inference_mode()
def main():
    torch.manual_seed(1)
    torch.set_default_dtype(KIND)
    server = Server(sys.argv[1])
    server.load_model()
    server.profile_run()
    server.initialize_kv_cache()
    server.capture_model()
    first = server.execute_model(4, 64)
    server.moment("served")
    server.sleep()
    server.wake_up()
    assert server.execute_model(4, 64) == first, "other tokens after sleep"
    server.moment("served_again")
    print(json.dumps({"terms": server.terms, "moments": server.moments}))


if __name__ == "__main__":
    main()
