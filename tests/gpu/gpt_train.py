"""An ordinary GPT-like training job in PyTorch that does not depend on gpuprof.

Prints losses, the same in every run, so that stdout can be compared byte by byte with an unrecorded
run. Writes PyTorch's own figures of its memory as JSON to the file that PEAKS_OUT names.
"""
import argparse
import json
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS gives equal bits only with this setting

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from note_moment import note

VOCABULARY = 8192


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=8)
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--width", type=int, default=512)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--tokens", type=int, default=256)
    p.add_argument("--graph", action="store_true", help="capture one step as a CUDA graph and replay it")
    p.add_argument("--checkpointing", action="store_true", help="blocks keep nothing, backward runs them again")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--compile-mode", default="default")
    p.add_argument("--oom", action="store_true", help="run out of memory at the end, catch it, go on")
    p.add_argument("--dataloader-workers", type=int, default=0)
    p.add_argument("--profiler", action="store_true")
    p.add_argument("--two-gpus", action="store_true", help="half of the layers on each of two devices")
    p.add_argument("--ddp", action="store_true", help="one rank of a torchrun job")
    return p.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = width // 64
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        b, t, d = x.shape
        head = d // self.heads
        q, k, v = (y.view(b, t, self.heads, head).transpose(1, 2) for y in self.qkv(x).split(d, dim=2))
        scores = q @ k.transpose(-2, -1) * head**-0.5
        future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        y = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.before_attention(x))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class GPT(nn.Module):
    def __init__(self, layers, width, tokens, devices, is_checkpointed=False):
        super().__init__()
        self.is_checkpointed = is_checkpointed
        self.word = nn.Embedding(VOCABULARY, width).to(devices[0])
        self.place = nn.Parameter(torch.zeros(tokens, width, device=devices[0]))
        home = [devices[i * len(devices) // layers] for i in range(layers)]
        self.blocks = nn.ModuleList(Block(width).to(device) for device in home)
        self.norm = nn.LayerNorm(width).to(devices[-1])
        self.head = nn.Linear(width, VOCABULARY, bias=False).to(devices[-1])

    def forward(self, x, y):
        x = self.word(x) + self.place
        for block in self.blocks:
            x = x.to(block.up.weight.device)
            x = checkpoint(block, x, use_reentrant=False) if self.is_checkpointed else block(x)
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.view(-1, VOCABULARY), y.to(scores.device).view(-1))


class Sentences(torch.utils.data.Dataset):
    """Token sequences that can be learned: each token depends on the one before, with noise."""

    def __init__(self, number, tokens, seed):
        self.number, self.tokens, self.seed = number, tokens, seed

    def __len__(self):
        return self.number

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1000003 + i)
        steps = torch.randint(1, 4, (self.tokens + 1,), generator=g)
        line = steps.cumsum(0) % VOCABULARY
        return line[:-1], line[1:]


def batches(args, device, rank):
    sentences = Sentences(args.batch * args.steps, args.tokens, rank + 1)
    workers = args.dataloader_workers
    is_pinned = workers > 0
    loader = torch.utils.data.DataLoader(sentences, args.batch, num_workers=workers, pin_memory=is_pinned)
    for x, y in loader:
        yield x.to(device, non_blocking=is_pinned), y.to(device, non_blocking=is_pinned)


class Job:
    def __init__(self, args):
        self.args = args
        self.rank = int(os.environ.get("RANK", 0)) if args.ddp else 0
        local = int(os.environ.get("LOCAL_RANK", 0)) if args.ddp else 0
        self.devices = [torch.device("cuda", local + i) for i in range(2 if args.two_gpus else 1)]
        torch.cuda.set_device(self.devices[0])
        torch.manual_seed(1)
        if args.ddp:
            torch.distributed.init_process_group("nccl", device_id=self.devices[0])
        model = GPT(args.layers, args.width, args.tokens, self.devices,
                    getattr(args, "checkpointing", False))
        if args.ddp:
            model = nn.parallel.DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True, capturable=args.graph)
        self.model = torch.compile(model, mode=args.compile_mode) if args.compile else model

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def train(self):
        for i, (x, y) in enumerate(batches(self.args, self.devices[0], self.rank)):
            self.say(f"step {i} loss {self.step(x, y).item():.4f}")
            note()

    def train_graph(self):
        todo = enumerate(batches(self.args, self.devices[0], self.rank))
        x, y = (z.clone() for z in next(todo)[1])
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in range(3):
                self.say(f"warm-up {i} loss {self.step(x, y).item():.4f}")
                note()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.step(x, y)
        note()
        for i, (new_x, new_y) in todo:
            x.copy_(new_x)
            y.copy_(new_y)
            graph.replay()
            self.say(f"step {i} loss {loss.item():.4f}")
            note()

    def train_profiled(self):
        """Returns the number of GPU events that torch.profiler delivered."""
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            self.train()
            torch.cuda.synchronize()
        number = sum(e.device_type == torch.autograd.DeviceType.CUDA for e in seen.events())
        self.say(f"profiler saw the GPU: {number > 0}")
        return number

    def run_out_of_memory(self):
        total = torch.cuda.get_device_properties(self.devices[0]).total_memory
        hoard = []
        try:
            while True:
                hoard.append(torch.empty(total // 8, dtype=torch.uint8, device=self.devices[0]))
        except torch.cuda.OutOfMemoryError:
            self.say("caught OutOfMemoryError")
        hoard.clear()
        self.train()

    def write_peaks(self, profiler_events):
        path = os.environ.get("PEAKS_OUT")
        if not path:
            return
        devices = []
        for device in self.devices:
            stats = torch.cuda.memory_stats(device)
            devices.append({
                "device": device.index,
                "allocated_peak_bytes": torch.cuda.max_memory_allocated(device),
                "reserved_peak_bytes": torch.cuda.max_memory_reserved(device),
                "ooms": stats["num_ooms"],
                "block_allocs": stats["allocation.all.allocated"],
                "block_frees": stats["allocation.all.freed"],
            })
        with open(f"{path}.{self.rank}" if self.args.ddp else path, "w") as f:
            json.dump({"torch": torch.__version__, "pid": os.getpid(), "devices": devices,
                       "profiler_events": profiler_events}, f)


def main():
    args = parse()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    job = Job(args)
    profiler_events = None
    if args.graph:
        job.train_graph()
    elif args.profiler:
        profiler_events = job.train_profiled()
    else:
        job.train()
    if args.oom:
        job.run_out_of_memory()
    torch.cuda.synchronize()
    job.write_peaks(profiler_events)
    if args.ddp:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
