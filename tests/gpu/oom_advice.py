"""Follows the first advice of `gpuprof oom` for jobs that run out of memory in different ways.

oom_advice.py --gpuprof PROGRAM --work DIR [--only NAMES]: each job is recorded until it runs out of memory. It is run
again with the first change of `answer.advice`, and must end well. It is run a third time with a change that is not
advised, or that is listed under `no_help`, and must run out of memory again. Prints a line for each run, a table, and
the number of jobs that passed; exits 1 where one failed.

oom_advice.py --job NAME --state FILE [changes]: one job. Exits 0, or 9 where it ran out of memory. Another process
takes most of the device before the job begins, and a tensor takes the rest except LEFT, so that each job is small. The
job `limit` has its own limit instead.
"""
import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

MIB, GIB = 1 << 20, 1 << 30
LEFT = 2 * GIB
CONTEXT = 2 * GIB  # more than the job's context and kernels take
OUT_OF_MEMORY = 9
RUN_S = 60
ALL_S = 200  # later jobs are skipped
FILLER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, free, total, at = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
size = (free.value - int(sys.argv[1])) >> 21 << 21
print(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)) if size > 0 else 0, flush=True)
sys.stdin.read()
"""


def plain():
    """Other processes are not recorded."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}


# ---- jobs ----
class Job:
    def __init__(self, args):
        self.args = args
        self.children = []
        self.driver = ctypes.CDLL("libcuda.so.1")

    def leave(self, size):
        """Another process takes all memory except this amount."""
        child = subprocess.Popen([sys.executable, "-c", FILLER, str(size)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env=plain())
        self.children.append(child)
        if child.stdout.readline().strip() != "0":
            raise SystemExit("the other process did not get its memory")

    def fill(self):
        """Takes memory until LEFT is free, whatever the context's size."""
        size = (free_bytes() - LEFT) // (2 * MIB) * (2 * MIB)
        if size <= 0:
            raise SystemExit(f"the context left {free_bytes()} bytes")
        self.ballast = tensor(size)

    def end(self):
        for child in self.children:
            child.stdin.close()
            child.wait()

    def has(self, change):
        return change in self.args.fix

    def less(self, size):
        """A size after the reductions that the options request."""
        size = size - self.args.less
        return min(size, self.args.at_most or size)

    def kept(self, name, find):
        """A figure that the first run measures and the others reuse."""
        state = {}
        if os.path.exists(self.args.state):
            with open(self.args.state) as file:
                state = json.load(file)
        if name not in state:
            state[name] = find()
            with open(self.args.state, "w") as file:
                json.dump(state, file)
        return state[name]

    def before(self):
        """The changes that a user may make before the request."""
        if self.has("empty_cache"):
            torch.cuda.empty_cache()

    def asked_of_driver(self, size):
        at = ctypes.c_uint64()
        if self.driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)):
            raise torch.cuda.OutOfMemoryError("the driver refused")
        return at.value

    def free_of_driver(self, at):
        self.driver.cuMemFree_v2(ctypes.c_uint64(at))


def tensor(size, stream=None):
    with torch.cuda.stream(stream):
        return torch.empty(size, dtype=torch.uint8, device="cuda")


def free_bytes():
    return torch.cuda.mem_get_info()[0]


def batch(job):
    """A batch whose logits do not fit beside the model."""
    model = tensor(GIB)
    job.before()
    logits = tensor(job.less(1300 * MIB))
    return model, logits


def activations(job):
    """Layers whose activations leave too little for the first gradients of the backward pass."""
    width, samples, sample = 1024, 16, 512
    weight = torch.zeros(width, width, device="cuda", requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    each = 4 * width * sample
    layers = job.kept("layers", lambda: (free_bytes() - 8 * MIB) // (samples * each) - 1)
    samples -= -(-job.args.less // (each * layers))
    x = torch.zeros(samples * sample, width, device="cuda")
    job.before()
    for _ in range(layers):
        x = torch.nn.functional.linear(x, weight).relu_()
    x.sum().backward()


def limit(job):
    """A limit of its own, on a device with free memory."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(job.args.fraction or GIB / total)
    model = tensor(600 * MIB)
    job.before()
    return model, tensor(job.less(800 * MIB))


def segments_with_a_rest(job, stream=None):
    """Segments of 80 MiB, each with 2 MiB in use."""
    segments = job.kept("segments", lambda: (free_bytes() - 80 * MIB) // (80 * MIB))
    kept = []
    for _ in range(segments):
        whole = tensor(80 * MIB, stream)
        del whole
        kept.append((tensor(2 * MIB, stream), tensor(78 * MIB, stream)))
    torch.cuda.synchronize()
    rests = [small for small, _ in kept]
    return rests[-(-job.args.bytes // (2 * MIB)):] if job.has("free_segments") else rests


def fragmentation(job):
    """A little of each segment stays in use, with much free memory behind it."""
    kept = segments_with_a_rest(job)
    job.before()
    return kept, tensor(job.less(400 * MIB))


def interleaved(job):
    """Every second of many small blocks stays: expandable segments would have the same gaps."""
    blocks = job.kept("blocks", lambda: (free_bytes() - 30 * MIB) // (20 * MIB) * 4)
    kept = [tensor(5 * MIB) for _ in range(blocks)][::2]
    if job.has("free_segments") or job.has("free_neighbours"):
        kept.sort(key=lambda t: t.data_ptr())
        del kept[:-(-job.args.bytes // (5 * MIB)) + 2]
    job.before()
    return kept, tensor(job.less(200 * MIB))


def other_stream(job):
    """A side stream's cache has enough free memory, with a little in use in each segment."""
    kept = segments_with_a_rest(job, None if job.has("fewer_streams_or_pools") else torch.cuda.Stream())
    job.before()
    return kept, tensor(job.less(200 * MIB))


def side_stream(job):
    """A side stream's cache has gaps of the requested size, and the device lacks free memory."""
    kept = segments_with_a_rest(job, None if job.has("fewer_streams_or_pools") else torch.cuda.Stream())
    ballast = tensor((free_bytes() - 30 * MIB) // (2 * MIB) * (2 * MIB))
    job.before()
    return kept, ballast, tensor(job.less(60 * MIB))


def products(x):
    out = [x * k for k in range(2, 7)]
    return sum(t[0] for t in out)


def graph_pool(job):
    """A graph's private pool keeps the memory of its intermediate results."""
    products(torch.ones(16, device="cuda"))
    x = torch.ones(80 * MIB, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = products(x)
    graph.replay()
    if job.has("fewer_streams_or_pools"):
        torch.cuda.synchronize()
        del graph, total
    job.before()
    return x, tensor(job.less(GIB))


def leak(job):
    """A list keeps a result of each step."""
    layer = torch.nn.Linear(1024, 1024, device="cuda")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    rows = 4096 - -(-job.args.less // (4 * 1024 * 100))
    log = []
    for step in range(300):
        optimizer.zero_grad()
        out = layer(torch.ones(rows, 1024, device="cuda"))
        loss = out.square().mean()
        loss.backward()
        optimizer.step()
        if not job.has("stop_leak"):
            log.append(out.detach())
        if step % 50 == 0:
            loss.item()
    return log


def cache(job):
    """PyTorch caches the memory that it freed, and another allocator requests memory of the driver."""
    activation = tensor(1500 * MIB)
    del activation
    job.before()
    at = job.asked_of_driver(job.less(GIB))
    job.free_of_driver(at)


def beside_allocator(job):
    """PyTorch uses the memory that another allocator requests."""
    size = 1500 * MIB
    if job.args.less:
        size -= job.args.less
    model = tensor(size)
    job.before()
    at = job.asked_of_driver(GIB)
    job.free_of_driver(at)
    return model


def another_process(job):
    """Another process takes memory after the job's first peak."""
    first = tensor(1200 * MIB)
    del first
    torch.cuda.empty_cache()
    if not job.args.alone:
        job.leave(600 * MIB)
    job.before()
    return tensor(job.less(1100 * MIB))


def outside(job):
    """A library of this job takes memory of the driver after the job's first peak."""
    first = tensor(1200 * MIB)
    del first
    torch.cuda.empty_cache()
    at = 0 if job.has("less_outside") else job.asked_of_driver(GIB)
    job.before()
    request = tensor(job.less(1200 * MIB))
    job.free_of_driver(at)
    return request


def optimizer(job):
    """Weights and gradients fit; the states of Adam do not."""
    weights = [torch.nn.Parameter(torch.zeros(32 * MIB, device="cuda")) for _ in range(5)]
    x = torch.ones(max(1, 64 * MIB - job.args.less // 4), device="cuda")
    sum((w.sum() for w in weights), x[0]).backward()
    del x
    job.before()
    if job.has("less_state"):
        torch.optim.SGD(weights, lr=0.1, foreach=False).step()
    else:
        torch.optim.Adam(weights, lr=0.1, foreach=False).step()
    return weights


EXPANDABLE = ["--conf", "expandable_segments:True"]
EMPTY = ["--fix", "empty_cache"]
# a job; a change that is not advised, or that is listed under `no_help`
JOBS = {
    "batch": (batch, EXPANDABLE),
    "activations": (activations, EXPANDABLE),
    "limit": (limit, EXPANDABLE),
    "fragmentation": (fragmentation, EMPTY),
    "interleaved": (interleaved, EXPANDABLE),
    "other_stream": (other_stream, EMPTY),
    "side_stream": (side_stream, EMPTY),
    "graph_pool": (graph_pool, EMPTY),
    "leak": (leak, ["--less", str(40 * MIB)]),
    "cache": (cache, EXPANDABLE),
    "beside_allocator": (beside_allocator, EMPTY),
    "another_process": (another_process, EXPANDABLE),
    "outside": (outside, EMPTY),
    "optimizer": (optimizer, ["--less", str(200 * MIB)]),
}


def warm_up():
    """Loads the kernels first, so that the driver's memory for them is not measured later."""
    x = torch.ones(64, 64, device="cuda", requires_grad=True)
    torch.nn.functional.linear(x, x).relu().square().mean().backward()
    del x
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def run_job(parse):
    """With --wait, the other arguments come as a line when the device is free; meanwhile it imports PyTorch."""
    global torch
    args = parse(sys.argv[1:])
    if args.conf:
        os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = args.conf
    import torch
    if args.wait:
        args = parse(sys.argv[1:] + json.loads(sys.stdin.readline()))
    job = Job(args)
    try:
        if args.job != "limit":
            job.leave(LEFT + CONTEXT)
        warm_up()
        if args.job != "limit":
            job.fill()
        JOBS[args.job][0](job)
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError as error:
        print(f"out of memory: {str(error)[:160]}")
        return OUT_OF_MEMORY
    finally:
        job.end()
    return 0


# ---- trials ----
def words_of(advice):
    """The change as options of the job; None: the job has no such option."""
    change, size, setting = advice["change"], str(advice["bytes"] or 0), advice["setting"]
    if change in ("expandable_segments", "max_split_size", "round_sizes"):
        return ["--conf", setting]
    if change == "higher_limit":
        found = re.search(r"\(([0-9.]+)\)", setting or "")
        return ["--fraction", found.group(1)] if found else None
    if change == "less_by_others":
        return ["--alone"]
    if change == "less_in_use":
        return ["--less", size]
    if change == "smaller_request":
        return ["--at-most", size]
    if change in ("empty_cache", "fewer_streams_or_pools", "stop_leak", "less_outside", "less_state"):
        return ["--fix", change]
    if change in ("free_segments", "free_neighbours"):
        return ["--fix", change, "--bytes", size]
    return None


class Run:
    """A process of a job, which waits until the device is free."""

    def __init__(self, name, state, words=(), prefix=()):
        command = [*prefix, sys.executable, os.path.abspath(__file__), "--job", name, "--state", state, "--wait", *words]
        self.name, self.words = name, list(words)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def end(self):
        """Also ends its child processes, because one may hold most of the device."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def go(self, what, more=()):
        """The exit status; None where it did not end. Prints a line."""
        began = time.monotonic()
        try:
            said, _ = self.process.communicate(json.dumps(list(more)) + "\n", timeout=RUN_S)
        except subprocess.TimeoutExpired:
            self.end()
            print(f"     {self.name}, {what}: no end within {RUN_S} s", flush=True)
            return None
        status = self.process.returncode
        last = said.strip().splitlines()[-1:] if status else []
        print(f"     {self.name}, {what} {' '.join([*self.words, *more])}: exit {status}, "
              f"{time.monotonic() - began:.1f} s {' '.join(last)[:160]}", flush=True)
        return status


class Trial:
    """Its three runs import PyTorch while the previous trial uses the device."""

    def __init__(self, args, name):
        self.args = args
        self.name = name
        self.recording = os.path.join(args.work, f"oom-advice-{name}.gpr")
        self.state = os.path.join(args.work, f"oom-advice-{name}.json")
        self.row = dict(cause="-", advised="-", passed="-", unadvised="-", failed="-")
        for path in (self.state, self.recording):
            if os.path.exists(path):
                os.remove(path)
        prefix = [args.gpuprof, "run", "-q", "--stacks=all", "--allocator-details=on", "--force", "-o",
                  self.recording, "--"]
        self.recorded = Run(name, self.state, prefix=prefix)
        self.advised = Run(name, self.state)
        self.unadvised = Run(name, self.state, JOBS[name][1])

    def end(self):
        for run in (self.recorded, self.advised, self.unadvised):
            run.end()

    def answer(self):
        """The answer for the last out-of-memory event, which ended the job."""
        command = [self.args.gpuprof, "oom", "--json", "--no-stacks", self.recording]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["ooms"]
        if not found:
            return None
        last = found[-1]
        if last["verdict"] is None:  # like an earlier one, which has the answer
            last = found[last["like"] - 1]
        return last["answer"]

    def show(self):
        done = subprocess.run([self.args.gpuprof, "oom", self.recording], capture_output=True, text=True)
        print("".join(f"     | {line}\n" for line in done.stdout.splitlines()), end="", flush=True)

    def try_advised(self, advice):
        words = words_of(advice)
        self.row["advised"] = advice["change"]
        if words is None:
            self.row["passed"] = "cannot be followed"
            return False
        if words[0] == "--conf":  # read when PyTorch is imported
            self.advised.end()
            self.advised, words = Run(self.name, self.state, words), ()
        status = self.advised.go("advised", words)
        self.row["passed"] = "yes" if status == 0 else "NO"
        return status == 0

    def try_unadvised(self, answer):
        words = JOBS[self.name][1]
        changes = {"--conf": "expandable_segments", "--less": "less_in_use"}
        change = changes.get(words[0], words[-1])
        self.row["unadvised"] = change
        if change in (a["change"] for a in answer["advice"]):
            self.row["failed"] = "it is advised"
            return False
        status = self.unadvised.go("unadvised")
        self.row["failed"] = "yes" if status == OUT_OF_MEMORY else "NO"
        return status == OUT_OF_MEMORY

    def run(self):
        if self.recorded.go("recorded") != OUT_OF_MEMORY:
            self.row["advised"] = "did not run out of memory"
            return False
        self.show()
        answer = self.answer()
        if not answer or not answer["advice"]:
            self.row["advised"] = "nothing"
            return False
        self.row["cause"] = answer["cause"].split(":")[0]
        passed = self.try_advised(answer["advice"][0])
        return self.try_unadvised(answer) and passed


def print_table(rows):
    print(f"     {'job':17} {'cause':17} {'advised':24} {'passed?':8} {'unadvised':20} failed?")
    for name, row in rows:
        print(f"     {name:17} {row['cause']:17} {row['advised']:24} {row['passed']:8} {row['unadvised']:20} {row['failed']}")


def run_trials(args):
    names = args.only.split(",") if args.only else list(JOBS)
    begin, rows, held = time.monotonic(), [], 0
    following = Trial(args, names[0])
    for at, name in enumerate(names):
        trial, following = following, None
        if time.monotonic() - begin > ALL_S:
            print(f"SKIP oom-advice: {', '.join(names[at:])}: no time left of {ALL_S} s", flush=True)
            trial.end()
            break
        following = Trial(args, names[at + 1]) if at + 1 < len(names) else None
        is_held = trial.run()
        trial.end()
        held += is_held
        rows.append((name, trial.row))
        print(f"{'PASS' if is_held else 'FAIL'} oom-advice: {name}: {trial.row['advised']} is advised and helps: "
              f"{trial.row['passed']}; {trial.row['unadvised']} does not help: {trial.row['failed']}", flush=True)
    print_table(rows)
    print(f"     oom_advice: {held} of {len(names)} jobs: the first advice helps, what is not advised does not; "
          f"{time.monotonic() - begin:.0f} s")
    return held < len(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gpuprof")
    p.add_argument("--work", default=".")
    p.add_argument("--only", default="", help="jobs, comma-separated")
    p.add_argument("--job", choices=JOBS)
    p.add_argument("--state", help="file of figures that all runs of a job share")
    p.add_argument("--conf", default="", help="PYTORCH_CUDA_ALLOC_CONF")
    p.add_argument("--fraction", type=float, default=0)
    p.add_argument("--less", type=int, default=0, help="bytes by which a smaller batch reduces the use")
    p.add_argument("--at-most", type=int, default=0, help="bytes of the request")
    p.add_argument("--bytes", type=int, default=0, help="to free, with --fix")
    p.add_argument("--alone", action="store_true", help="no other process")
    p.add_argument("--fix", default=[], action="append", help="a change of the code, by its name in the answer")
    p.add_argument("--wait", action="store_true", help="for a line with the other arguments")
    args = p.parse_args()
    if args.job:
        return run_job(p.parse_args)
    if not args.gpuprof:
        p.error("--gpuprof or --job")
    return run_trials(args)


if __name__ == "__main__":
    sys.exit(main())
