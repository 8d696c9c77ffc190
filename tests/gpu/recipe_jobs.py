"""Small jobs as recipes start them; no network, random weights: recipe_jobs.py JOB. Each rank prints "done JOB ...".

Ranks find each other by the variables that torchrun sets; without them a job has one rank. Each process with PyTorch
writes its own peaks to the file PEAKS_OUT.RANK.
"""
import json
import os
import sys
import tempfile

RANK, WORLD, LOCAL = (int(os.environ.get(name, default)) for name, default in
                      (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)))


def write_peaks(torch, rank=None):
    """PyTorch's counts in this process, on the device that it uses."""
    rank = RANK if rank is None else rank
    if not os.environ.get("PEAKS_OUT"):
        return
    torch.cuda.synchronize()
    device = torch.cuda.current_device()
    with open(f"{os.environ['PEAKS_OUT']}.{rank}", "w") as file:
        json.dump({"rank": rank, "pid": os.getpid(), "device": device,
                   "allocated_peak_bytes": torch.cuda.max_memory_allocated(device),
                   "reserved_peak_bytes": torch.cuda.max_memory_reserved(device)}, file)


def model_of(torch, width=512, layers=4):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)]
    return torch.nn.Sequential(*parts).cuda()


def train(torch, model, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in batches:
        loss = model(batch.cuda(non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    return float(loss)


def four_batches(torch):
    return [torch.randn(64, 512) for _ in range(4)]


def join(torch):
    """NCCL does not connect ranks that share a GPU: they use gloo."""
    shared = WORLD > torch.cuda.device_count()
    torch.cuda.set_device(0 if shared else LOCAL)
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29540")
    torch.distributed.init_process_group("gloo" if shared else "nccl")
    return "gloo" if shared else "nccl"


def leave(torch):
    write_peaks(torch)
    torch.distributed.destroy_process_group()


def ddp():
    import torch
    backend = join(torch)
    model = torch.nn.parallel.DistributedDataParallel(model_of(torch))
    loss = train(torch, model, four_batches(torch))
    leave(torch)
    return f"{backend} rank {RANK} of {WORLD} loss {loss:.3f}"


def slurm_ddp():
    """Sets the variables as a script under srun without torchrun does."""
    global RANK, WORLD, LOCAL
    RANK, WORLD, LOCAL = (int(os.environ[name]) for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"))
    os.environ.update(RANK=str(RANK), WORLD_SIZE=str(WORLD), LOCAL_RANK=str(LOCAL), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT="29537")
    return ddp()


def fsdp2():
    import torch
    from torch.distributed.fsdp import fully_shard
    backend = join(torch)
    model = model_of(torch)
    for part in model:
        if isinstance(part, torch.nn.Linear):
            fully_shard(part)
    fully_shard(model)
    loss = train(torch, model, four_batches(torch))
    leave(torch)
    return f"{backend} rank {RANK} of {WORLD} loss {loss:.3f}"


def rank_oom():
    """The last rank gets a batch that does not fit beside the model; the others wait for it."""
    import torch
    join(torch)
    total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    model = torch.empty(total // 10 * 6, dtype=torch.uint8, device="cuda")
    everyone = torch.ones(1, device="cuda")
    write_peaks(torch)
    torch.distributed.all_reduce(everyone)
    torch.cuda.synchronize()
    try:
        if RANK == WORLD - 1:
            batch = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    finally:
        write_peaks(torch)
    torch.distributed.all_reduce(everyone)
    torch.cuda.synchronize()
    return f"rank {RANK} of {WORLD}"


def hf_trainer():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=128, n_layer=2, n_head=2))
    lines = [{"input_ids": line, "labels": line} for line in torch.randint(0, 1000, (32, 64))]
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(folder, per_device_train_batch_size=4, max_steps=4, report_to=[],
                                 save_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
        Trainer(model=model, args=args, train_dataset=lines).train()
    write_peaks(torch)
    return f"rank {RANK} of {WORLD}"


def accelerate_loop():
    import torch
    from accelerate import Accelerator
    accelerator = Accelerator()
    model = model_of(torch)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(torch.randn(128, 512), batch_size=16)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    write_peaks(torch, accelerator.process_index)
    return f"rank {accelerator.process_index} of {accelerator.num_processes}"


def dataloader():
    import torch
    data = torch.utils.data.TensorDataset(torch.randn(256, 512))
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=2, pin_memory=True)
    loss = train(torch, model_of(torch), (batch for (batch,) in loader))
    write_peaks(torch)
    return f"2 workers, pinned, loss {loss:.3f}"


def jax_jit():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    value = f(jnp.ones((1024, 1024))).block_until_ready()
    return f"{jax.devices()[0].platform} {float(value):.1f}"


def cupy_sum():
    import cupy
    x = cupy.ones((1024, 1024), dtype=cupy.float32)
    return f"{float((x @ x).sum()):.1f}"


def triton_add():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    x = torch.ones(1 << 22, device="cuda")
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 1024),)](x, x, out, x.numel(), BLOCK=1024)
    value = out.sum().item()
    write_peaks(torch)
    return f"{value:.1f}"


class Shards:
    """One rank's share of each layer: columns of the first matrix, rows of the second. The ranks' results are added."""

    def __init__(self, torch, world, width=1024, layers=4):
        self.torch = torch
        self.layers = [torch.nn.Sequential(torch.nn.Linear(width, 4 * width // world), torch.nn.GELU(),
                                           torch.nn.Linear(4 * width // world, width)).half().cuda()
                       for _ in range(layers)]
        self.pool = None

    def prefill(self, x):
        for layer in self.layers:
            y = layer(x)
            self.torch.distributed.all_reduce(y)
            x = x + y
        return x

    def capture(self, batch, width=1024):
        """A graph for each layer, because NCCL runs between them."""
        torch, steps = self.torch, []
        x = torch.zeros(batch, width, device="cuda", dtype=torch.half)
        for layer in self.layers:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                layer(x)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            # NCCL's watchdog may query its events meanwhile
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                y = layer(x)
            self.pool = self.pool or graph.pool()
            steps.append((graph, y))
        return x, steps

    def decode(self, x, steps):
        for graph, y in steps:
            graph.replay()
            self.torch.distributed.all_reduce(y)
            x.add_(y)
        return x


def worker(rank, world, share, answers):
    """The work of a worker of vLLM or SGLang: NCCL, its share of the weights, a KV cache in most of the free memory,
    graphs, requests."""
    import torch
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method="tcp://127.0.0.1:29541", rank=rank, world_size=world)
    with torch.inference_mode():
        torch.manual_seed(rank)
        model = Shards(torch, world)
        model.prefill(torch.zeros(256, 1024, device="cuda", dtype=torch.half))  # the memory of the largest batch
        free, _ = torch.cuda.mem_get_info()
        cache = torch.empty(int(free * share) // 2, dtype=torch.half, device="cuda")
        pages = cache[:cache.numel() // 1024 * 1024].view(-1, 1024)
        torch.cuda.synchronize()
        graphs = {batch: model.capture(batch) for batch in (32, 16, 8, 4, 2, 1)}  # the other graphs fit into the first one's pool
        for request in range(100):
            x, steps = graphs[(1, 4, 32, 8, 2, 16)[request % 6]]
            x.fill_(0.01)
            pages[request % pages.shape[0]].copy_(model.decode(x, steps)[0])
        torch.cuda.synchronize()
    write_peaks(torch, rank)
    answers.put(f"{len(graphs)} batch sizes, KV cache {cache.nbytes >> 20} MiB")
    torch.distributed.destroy_process_group()


def serve():
    import multiprocessing
    import torch
    context = multiprocessing.get_context("spawn")
    world = min(2, torch.cuda.device_count())
    answers = context.Queue()
    ranks = [context.Process(target=worker, args=(rank, world, 0.85, answers)) for rank in range(world)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    if any(rank.exitcode for rank in ranks):
        sys.exit(f"serve: workers ended with {[rank.exitcode for rank in ranks]}")
    return f"tensor parallel {world}, {answers.get(timeout=5)}"


JOBS = {job.__name__: job for job in (ddp, slurm_ddp, fsdp2, rank_oom, hf_trainer, accelerate_loop, dataloader, jax_jit,
                                      cupy_sum, triton_add, serve)}

if __name__ == "__main__":
    print("done", sys.argv[1], JOBS[sys.argv[1]](), flush=True)
