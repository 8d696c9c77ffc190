"""Small jobs as recipes start them; no network, random weights: recipe_jobs.py JOB. The last line is "done JOB ...".

Ranks find each other by the variables that torchrun sets; without them a job is alone.
"""
import os
import sys
import tempfile

RANK, WORLD, LOCAL = (int(os.environ.get(name, default)) for name, default in
                      (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)))


def model_of(torch, width=512, layers=4):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)]
    return torch.nn.Sequential(*parts).cuda()


def train(torch, model, batches, steps=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in batches[:steps] if isinstance(batches, list) else batches:
        loss = model(batch.cuda(non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    return float(loss)


def join(torch):
    """Ranks of one GPU cannot use NCCL with each other: gloo then."""
    shared = WORLD > torch.cuda.device_count()
    torch.cuda.set_device(0 if shared else LOCAL)
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29540")
    torch.distributed.init_process_group("gloo" if shared else "nccl")
    return "gloo" if shared else "nccl"


def ddp():
    import torch
    backend = join(torch)
    model = torch.nn.parallel.DistributedDataParallel(model_of(torch))
    loss = train(torch, model, [torch.randn(64, 512) for _ in range(4)])
    torch.distributed.destroy_process_group()
    return f"{backend} world {WORLD} loss {loss:.3f}"


def fsdp2():
    import torch
    from torch.distributed.fsdp import fully_shard
    backend = join(torch)
    model = model_of(torch)
    for part in model:
        if isinstance(part, torch.nn.Linear):
            fully_shard(part)
    fully_shard(model)
    loss = train(torch, model, [torch.randn(64, 512) for _ in range(4)])
    torch.distributed.destroy_process_group()
    return f"{backend} world {WORLD} loss {loss:.3f}"


def hf_trainer():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=128, n_layer=2, n_head=2))
    lines = [{"input_ids": line, "labels": line} for line in torch.randint(0, 1000, (16, 64))]
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(folder, per_device_train_batch_size=4, max_steps=4, report_to=[],
                                 save_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
        Trainer(model=model, args=args, train_dataset=lines).train()
    return f"world {WORLD}"


def accelerate_loop():
    import torch
    from accelerate import Accelerator
    accelerator = Accelerator()
    model = model_of(torch)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(torch.randn(64, 512), batch_size=16)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    return f"{accelerator.num_processes} process(es)"


def dataloader():
    import torch
    data = torch.utils.data.TensorDataset(torch.randn(256, 512))
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=2, pin_memory=True)
    loss = train(torch, model_of(torch), (batch for (batch,) in loader))
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
    torch.cuda.synchronize()
    return f"{out.sum().item():.1f}"


def worker(rank, world, share, answers):
    """What a worker of vLLM or SGLang does: NCCL, weights, a KV cache of most of what is free, graphs, requests."""
    import torch
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method="tcp://127.0.0.1:29541", rank=rank, world_size=world)
    with torch.inference_mode():
        model = model_of(torch, width=1024, layers=4).half()
        model(torch.zeros(256, 1024, device="cuda", dtype=torch.half))  # what the largest batch takes
        free, _ = torch.cuda.mem_get_info()
        cache = torch.empty(int(free * share) // 2, dtype=torch.half, device="cuda")
        pages = cache[:cache.numel() // 1024 * 1024].view(-1, 1024)
        graphs, pool = {}, None
        for batch in (32, 16, 8, 4, 2, 1):  # the largest first: the others fit into its pool
            x = torch.zeros(batch, 1024, device="cuda", dtype=torch.half)
            graph = torch.cuda.CUDAGraph()
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                model(x)
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(graph, pool=pool):
                y = model(x) + pages[:batch]
            pool = pool or graph.pool()
            graphs[batch] = graph, x, y
        for request in range(200):
            graph, x, y = graphs[(1, 4, 32, 8, 2, 16)[request % 6]]
            x.fill_(0.01 * request)
            graph.replay()
            pages[request % pages.shape[0]].copy_(y[0])
            torch.distributed.all_reduce(y)
        torch.cuda.synchronize()
    answers.put(f"{len(graphs)} graphs, KV cache {cache.nbytes >> 20} MiB")
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
    return f"{world} worker(s), {answers.get(timeout=5)}"


JOBS = {job.__name__: job for job in (ddp, fsdp2, hf_trainer, accelerate_loop, dataloader, jax_jit, cupy_sum, triton_add, serve)}

if __name__ == "__main__":
    print("done", sys.argv[1], JOBS[sys.argv[1]](), flush=True)
