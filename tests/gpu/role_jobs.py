"""Ordinary PyTorch jobs that write what their own tensors hold at three moments.

role_jobs.py KIND --out FILE [--steps N]: gpt, resnet, compile, checkpoint, serve, llama, tracker, ddp or fsdp (the
last two under torchrun; FILE gets the rank appended). FILE is a list of moments: `unix_ns`, a time within the moment;
`bytes`, for each role the bytes of PyTorch's blocks that the tensors lie in; `allocated`, PyTorch's own count. No
memory of the GPU is requested or freed within a moment. The job does not depend on gpuprof.

tracker: the gpt job with one step under PyTorch's MemTracker. The moment is the peak of that step, and `tracked` has
the bytes of blocks by the tracker's categories. `skip` instead: the tracker failed, and why.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from gpt_train import GPT, VOCABULARY, Sentences
from note_moment import note

KINDS = ("gpt", "resnet", "compile", "checkpoint", "serve", "llama", "tracker", "ddp", "fsdp")
LOOK_AT = 4  # the step at whose moments the tensors are added up; the first ones warm up
moments = []


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("kind", choices=KINDS)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=7)
    return p.parse_args()


# ---- sums over tensors ----

def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def starts(tensors):
    """The addresses of the storages, each once, that lie on the GPU."""
    return {local(t).untyped_storage().data_ptr() for t in tensors if local(t).is_cuda} - {0}


def weights_of(model):
    return [*model.parameters(), *model.buffers()]


def states_of(optimizer):
    return [t for state in optimizer.state.values() for t in state.values() if torch.is_tensor(t)]


def block_bytes(blocks, addresses):
    """Bytes of the blocks in which the addresses lie. A storage may be a part of a block."""
    held = set()
    for address in addresses:
        held.update(b for b in blocks if b[0] <= address < b[0] + b[1])
    return sum(size for _, size in held)


def live_blocks():
    """Address and size of each block of PyTorch."""
    segments = torch.cuda.memory._snapshot(torch.cuda.current_device())["segments"]
    return [(b["address"], b["size"]) for s in segments for b in s["blocks"]
            if s["device"] == torch.cuda.current_device() and b["state"] == "active_allocated"]


def look(name, **tensors):
    """Adds a moment. Tensors of an earlier role are not counted in a later one."""
    torch.cuda.synchronize()
    begin_ns = time.time_ns()
    blocks = live_blocks()
    seen, counted = set(), {}
    for role, list_of in tensors.items():
        addresses = starts(list_of) - seen
        seen |= addresses
        counted[role] = block_bytes(blocks, addresses)
    allocated = torch.cuda.memory_allocated()
    moments.append({"name": name, "unix_ns": (begin_ns + time.time_ns()) // 2, "allocated": allocated, "bytes": counted})


# ---- training ----

class Trainer:
    """Looks after forward, backward and step. Activations are what autograd saves for backward, and the loss."""

    def __init__(self, model, forward, has_saved=True, optimizer=None):
        self.model, self.forward, self.has_saved = model, forward, has_saved
        self.optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)

    def look(self, name, inputs, **more):
        look(name, weights=weights_of(self.model),
             gradients=[p.grad for p in self.model.parameters() if p.grad is not None],
             optimizer=states_of(self.optimizer), inputs=inputs, **more)

    def step(self, is_looked_at, *inputs):
        saved = []

        def pack(tensor):
            saved.append(tensor)
            return tensor

        self.optimizer.zero_grad()
        if is_looked_at and self.has_saved:
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                loss = self.forward(*inputs)
            self.look("forward", inputs, activations=[*saved, loss])
            saved.clear()
        else:
            loss = self.forward(*inputs)
            if is_looked_at:
                self.look("forward", inputs)
        loss.backward()
        if is_looked_at:
            self.look("backward", inputs)
        self.optimizer.step()
        if is_looked_at:
            self.look("step", inputs)
        return loss.detach()

    def train(self, batches):
        for number, inputs in enumerate(batches):
            print(f"step {number} loss {self.step(number == LOOK_AT, *inputs).item():.4f}", flush=True)
            note()


class TrackedTrainer(Trainer):
    def step(self, is_looked_at, *inputs):
        if not is_looked_at:
            return super().step(False, *inputs)
        try:
            tracker = peak_tracker()
            tracker.track_external(self.model, self.optimizer, *inputs)
            with tracker:
                loss = super().step(False, *inputs)
            moments.append(tracker.moment())
            return loss
        except Exception as error:  # it uses parts of PyTorch that are not public
            moments.append({"name": "tracker", "skip": f"{type(error).__name__}: {error}"})
            return torch.tensor(float("nan"))


def peak_tracker():
    from torch.distributed._tools.mem_tracker import MemTracker

    class PeakTracker(MemTracker):
        """Keeps what is live when the tracked memory of the GPU is highest, after the operator that raised it."""
        highest = 0

        def _update_peak_stats(self, *state):
            super()._update_peak_stats(*state)
            total = sum(snap["Total"] for device, snap in self._curr_mem_snap.items() if device.type == "cuda")
            if total <= self.highest:
                return
            begin_ns = time.time_ns()
            self.highest, self.blocks, self.allocated = total, live_blocks(), torch.cuda.memory_allocated()
            self.unix_ns = (begin_ns + time.time_ns()) // 2
            self.starts = [(info.reftype.value, storage.data_ptr()) for storage, (info, _) in self._WINFO.items()
                           if info.device.type == "cuda"]

        def moment(self):
            tracked = {kind: block_bytes(self.blocks, {a for k, a in self.starts if k == kind and a})
                       for kind in {kind for kind, _ in self.starts}}
            return {"name": "tracker", "unix_ns": self.unix_ns, "allocated": self.allocated, "bytes": {},
                    "tracked": tracked}

    return PeakTracker()


def sentences(steps, batch=4, tokens=128):
    loader = torch.utils.data.DataLoader(Sentences(batch * steps, tokens, 1), batch)
    for x, y in loader:
        yield x.cuda(), y.cuda()


def gpt(is_checkpointed=False):
    return GPT(4, 256, 128, [torch.device("cuda")], is_checkpointed)


class Residual(nn.Module):
    def __init__(self, width, stride):
        super().__init__()
        self.first = nn.Conv2d(width // stride, width, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))
        self.short = nn.Conv2d(width // stride, width, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(y + self.short(x))


def resnet(steps):
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                          Residual(64, 1), Residual(128, 2), Residual(256, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(256, 1000)).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    pictures = ((torch.randn(16, 3, 128, 128).cuda().contiguous(memory_format=torch.channels_last),
                 torch.randint(1000, (16,)).cuda()) for _ in range(steps))
    Trainer(model, lambda x, y: F.cross_entropy(model(x), y), optimizer=optimizer).train(pictures)


def llama(steps):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=256, intermediate_size=704,
                                         num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2)).cuda()
    Trainer(model, lambda x, y: model(input_ids=x, labels=x, use_cache=False).loss).train(sentences(steps))


def ranks(kind, steps):
    import torch.distributed as dist

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    model = GPT(4, 256, 128, [torch.device("cuda", torch.cuda.current_device())])
    if kind == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    Trainer(model, lambda x, y: model(x, y), has_saved=False).train(sentences(steps))
    dist.destroy_process_group()


# ---- serving ----

class KVCache:
    """Keys and values of all layers, one page of all tokens for a request."""

    def __init__(self, layers, requests, tokens, width):
        self.pages = [torch.zeros(2, requests, tokens, width, device="cuda", dtype=torch.half) for _ in range(layers)]


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, page, at):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        page[0, :, at:at + x.shape[1]], page[1, :, at:at + x.shape[1]] = k, v
        keys, values = page[0, :, :at + x.shape[1]], page[1, :, :at + x.shape[1]]
        return x + self.out(F.scaled_dot_product_attention(q, keys, values))


class Server(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.words, self.head = nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY)
        self.layers = nn.ModuleList(Attention(width) for _ in range(layers))

    def forward(self, tokens, cache, at):
        x = self.words(tokens)
        for layer, page in zip(self.layers, cache.pages):
            x = layer(x, page, at)
        return self.head(x[:, -1]).argmax(-1, keepdim=True)


@torch.no_grad()
def serve(steps):
    model = Server(6, 512).half().cuda()
    look("loaded", weights=weights_of(model))
    cache = KVCache(6, 8, 512, 512)
    tokens = model(torch.randint(VOCABULARY, (8, 256)).cuda(), cache, 0)
    look("prefill", weights=weights_of(model), kv_cache=cache.pages)
    for number in range(steps * 8):
        tokens = model(tokens, cache, 256 + number)
    look("decode", weights=weights_of(model), kv_cache=cache.pages)
    print(f"last tokens {tokens.flatten().tolist()}", flush=True)


def main():
    args = parse()
    torch.manual_seed(1)
    if args.kind == "resnet":
        resnet(args.steps)
    elif args.kind == "serve":
        serve(args.steps)
    elif args.kind == "llama":
        llama(args.steps)
    elif args.kind in ("ddp", "fsdp"):
        ranks(args.kind, args.steps)
    else:
        model = gpt(args.kind == "checkpoint")
        run = torch.compile(model) if args.kind == "compile" else model
        kind_of = TrackedTrainer if args.kind == "tracker" else Trainer
        kind_of(model, run, args.kind == "gpt").train(sentences(args.steps))
    rank = os.environ.get("RANK")
    with open(args.out if rank is None else f"{args.out}.{rank}", "w", encoding="utf-8") as file:
        json.dump(moments, file)


if __name__ == "__main__":
    sys.exit(main())
