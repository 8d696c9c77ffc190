"""Small PyTorch jobs, some of which keep memory in each step that they should free.

leak_jobs.py JOB [--steps N]: a job below. A line that allocates what its job keeps forever ends with "# guilty: JOB".
The others (train, compile, serve) keep nothing, though they warm up, cache and evaluate. Prints a figure at the end.
"""
import argparse
import ctypes

import torch
from torch import nn
from torch.nn import functional

WIDTH, BATCH = 64, 32


class Model(nn.Module):
    """Two layers, and a table of positions for each requested length."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, 2 * WIDTH)
        self.second = nn.Linear(2 * WIDTH, WIDTH)
        self.positions = {}

    def forward(self, batch):
        length = batch.shape[0]
        if length not in self.positions:
            self.positions[length] = torch.arange(length, device=batch.device, dtype=batch.dtype).unsqueeze(1)
        hidden = functional.gelu(self.first(batch + 0.01 * self.positions[length]))
        return self.second(hidden)


def parts():
    torch.manual_seed(1)
    model = Model().cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def data(step):
    length = BATCH + 8 * (step % 4)  # a cache of four entries fills up
    return torch.full((length, WIDTH), 0.1 * (step % 7), device="cuda")


def evaluate(model):
    model.eval()
    with torch.no_grad():
        wrong = sum((model(data(k)) > 0.5).float().mean() for k in range(3))
    model.train()
    return wrong.item()


def train(steps, run=None):
    model, optimizer = parts()
    run = run or model
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(step)
        loss = functional.mse_loss(run(batch), batch)
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            evaluate(model)
    return loss.item()


def compile(steps):
    model, optimizer = parts()
    compiled = torch.compile(model)
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(0)
        loss = functional.mse_loss(compiled(batch), batch)
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            evaluate(compiled)
    return loss.item()


def loss_list(steps):
    model, optimizer = parts()
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(step)
        prediction = model(batch)
        loss = functional.mse_loss(prediction, batch)  # guilty: loss_list
        loss.backward()
        optimizer.step()
        losses.append(loss)
        if step % 10 == 9:
            evaluate(model)
    return sum(losses).item()


def hooks(steps):
    model, optimizer = parts()
    seen = []
    model.second.register_forward_hook(lambda module, given, output: seen.append(output))
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(step)
        prediction = forward_watched(model, batch)
        loss = functional.mse_loss(prediction, batch)
        loss.backward()
        optimizer.step()
    return sum(output.sum() for output in seen).item()


def forward_watched(model, batch):
    batch = batch + 0.01
    hidden = functional.gelu(model.first(batch))
    return model.second(hidden)  # guilty: hooks


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, token, past):
        query, key, value = self.query(token), self.key(token), self.value(token)
        if past is not None:
            key = torch.cat((past[0], key), 1)  # guilty: kv_cache
            value = torch.cat((past[1], value), 1)  # guilty: kv_cache
        weights = torch.softmax(query @ key.transpose(1, 2) / WIDTH**0.5, -1)
        return self.out(weights @ value), (key, value)


def serve(steps, kept=None):
    """Requests of four to eight tokens; each has a cache that grows while it is served."""
    torch.manual_seed(1)
    layer = Attention().cuda().eval()
    total = 0.0
    with torch.no_grad():
        for request in range(steps):
            token, past = torch.full((1, 1, WIDTH), 0.01 * (request % 9), device="cuda"), None
            for _ in range(4 + request % 5):
                token, past = layer(token, past)
            total += token.sum().item()
            if kept is not None:
                kept[request] = past
    return total


def kv_cache(steps):
    return serve(steps, {})


def streams(steps):
    cudart = torch.cuda.cudart()
    model, optimizer = parts()
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(step)
        made = ctypes.c_ulonglong(0)
        place = ctypes.cast(ctypes.pointer(made), ctypes.c_void_p).value
        assert int(cudart.cudaStreamCreate(place)) == 0  # guilty: streams
        side = torch.cuda.ExternalStream(made.value)
        loss = functional.mse_loss(model(batch), batch)
        loss.backward()
        side.wait_stream(torch.cuda.current_stream())
        optimizer.step()
        if step % 10 == 9:
            evaluate(model)
    return loss.item()


class Samples(torch.utils.data.Dataset):
    def __init__(self, steps):
        self.samples = torch.linspace(0, 1, steps * BATCH).unsqueeze(1).repeat(1, WIDTH)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, k):
        return self.samples[k]


def pinned(steps):
    model, optimizer = parts()
    loader = torch.utils.data.DataLoader(Samples(steps), batch_size=BATCH, pin_memory=True)
    kept = []
    for host in loader:  # guilty: pinned
        optimizer.zero_grad()
        batch = host.cuda(non_blocking=True)
        loss = functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        kept.append(host)
    return loss.item() + float(sum(host[0, 0] for host in kept))


def keep(depth, loss, kept):
    if depth:
        keep(depth - 1, loss, kept)
    else:
        kept.append(loss.detach() + 1)  # guilty: deep


def deep(steps):
    """Each stack keeps a block or two; the stacks have only the line in common."""
    model, optimizer = parts()
    kept = []
    for step in range(steps):
        optimizer.zero_grad()
        batch = data(step)
        loss = functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        keep(step * 17 % 41, loss, kept)
        if step % 10 == 9:
            evaluate(model)
    return sum(kept).item()


JOBS = (train, compile, serve, loss_list, hooks, kv_cache, streams, pinned, deep)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("job", choices=[job.__name__ for job in JOBS])
    p.add_argument("--steps", type=int, default=60)
    args = p.parse_args()
    job = next(job for job in JOBS if job.__name__ == args.job)
    print(f"{args.job}: {args.steps} steps, {job(args.steps):.6f}", flush=True)


if __name__ == "__main__":
    main()
