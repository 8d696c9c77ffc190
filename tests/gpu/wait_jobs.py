"""Training loops with one planted wait each, and clean ones: wait_jobs.py NAME [STEPS].

The line that waits ends with `# planted`. Work of the host, a sleep, comes after the wait: the GPU is idle in it because
the wait has emptied its queue. Only in pageable_behind, the step is launched before the sleep. With PROFILE set,
torch.profiler writes its trace there.
"""
import os
import sys
import time

import torch
from torch import nn

STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
WARM_UP = 5  # steps before the job's own, and before the profile
WIDTH = 2048
ROWS = 2048  # so many that no host launches a step more slowly than a GPU runs it


class Slow(torch.utils.data.Dataset):
    def __init__(self, seconds):
        self.seconds = seconds
        self.row = torch.randn(WIDTH)

    def __len__(self):
        return STEPS * 8

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return self.row


class Loop:
    def __init__(self):
        torch.manual_seed(1)
        self.model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(12)]).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.x = torch.randn(ROWS, WIDTH, device="cuda")
        self.total = torch.zeros((), device="cuda")

    def step(self, x=None):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model(self.x if x is None else x).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def item(loop):
    seen = 0.0
    for _ in range(STEPS):
        loss = loop.step()
        seen += loss.item()  # planted
        time.sleep(0.002)


def pageable(loop):
    batch = torch.randn(ROWS, WIDTH)
    for _ in range(STEPS):
        x = batch.cuda()  # planted
        time.sleep(0.002)
        loop.step(x)


def pageable_behind(loop):
    batch = torch.randn(ROWS, WIDTH)
    for _ in range(STEPS):
        x = batch.cuda()  # planted
        loop.step(x)
        time.sleep(0.002)


def free(loop):
    for _ in range(STEPS):
        loop.step()
        torch.cuda.empty_cache()  # planted
        time.sleep(0.002)


def loader(loop):
    data = torch.utils.data.DataLoader(Slow(0.003), batch_size=8)
    for batch in data:  # planted
        loop.step(batch.cuda().mean(0, keepdim=True).expand(ROWS, -1))
        torch.cuda.synchronize()


def recompile(loop):
    source = 'extern "C" __global__ void f(float *x) { x[%d] += 1; }'
    for k in range(STEPS):
        loop.step()
        torch.cuda.synchronize()
        f = torch.cuda._compile_kernel(source % k, "f")  # planted
        f((1, 1, 1), (1, 1, 1), (loop.x,))


def clean_async(loop):
    for _ in range(STEPS):
        loop.total += loop.step()


def clean_pinned(loop):
    batch = torch.randn(ROWS, WIDTH).pin_memory()
    for _ in range(STEPS):
        loop.total += loop.step(batch.to("cuda", non_blocking=True))


def clean_read_rarely(loop):
    for k in range(STEPS):
        loop.total += loop.step()
        if k == STEPS - 1:
            print(loop.total.item())


def clean_event(loop):
    before = None
    for _ in range(STEPS):
        loop.total += loop.step()
        after = torch.cuda.Event()
        after.record()
        if before is not None:
            before.synchronize()
        before = after


def clean_workers(loop):
    data = torch.utils.data.DataLoader(Slow(0), batch_size=8, num_workers=2, pin_memory=True)
    for batch in data:
        loop.total += loop.step(batch.to("cuda", non_blocking=True).mean(0, keepdim=True).expand(ROWS, -1))


JOBS = {f.__name__: f for f in (item, pageable, pageable_behind, free, loader, recompile, clean_async,
                                clean_pinned, clean_read_rarely, clean_event, clean_workers)}


def main():
    loop = Loop()
    for _ in range(WARM_UP):
        loop.step()
    torch.cuda.synchronize()
    run = JOBS[sys.argv[1]]
    if not os.environ.get("PROFILE"):
        run(loop)
        torch.cuda.synchronize()
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(loop)
        torch.cuda.synchronize()
    profile.export_chrome_trace(os.environ["PROFILE"])


if __name__ == "__main__":
    main()
