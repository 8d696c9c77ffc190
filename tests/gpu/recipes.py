"""Tries the recipes of docs/RECIPES.md: one PASS, FAIL or SKIP line a recipe, with its command, recordings and peaks.

recipes.py --gpuprof PATH --work FOLDER [NAME...]

With two GPUs or more, recipes with ranks have one rank on each of two GPUs. Each process with PyTorch writes its own peaks; its
recording must have the same peaks, to the byte. `info`, `peak` and `oom` of the folder must name each rank.
"""
import argparse
import concurrent.futures
import dataclasses
import glob
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PYTHON", sys.executable)
JOBS = os.path.join(HERE, "recipe_jobs.py")
LIMIT_S = 75  # for one recipe
ALL_S = 200  # for all of them: recipes that could end later are skipped
AT_ONCE = 3  # recipes that leave memory for others
PEAKS = ("allocated_peak_bytes", "reserved_peak_bytes")


@dataclasses.dataclass
class Recipe:
    """`starts` has one command for each `gpuprof run`, with the variables of its environment. The job's processes are
    ranks 0 to `ranks` - 1; without `with_torch` they write no peaks."""
    name: str
    modules: list
    starts: list
    pattern: str
    ranks: int
    with_torch: bool = True
    is_alone: bool = False  # it takes most of each GPU
    one_gpu: bool = False  # all ranks on the first one
    failing: int | None = None  # the rank that runs out of memory, which ends the job

    @property
    def job(self):
        return self.starts[0][1][-1]


def gpus():
    try:
        found = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True).stdout.count("GPU ")
    except OSError:
        return 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if not visible else len(visible.split(","))


def torchrun(ranks, job, port):
    return [PYTHON, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--master-addr=127.0.0.1",
            f"--master-port={port}", JOBS, job]


def accelerate(ranks):
    several = ["--multi_gpu", "--main_process_port=29535"] if ranks > 1 else []
    return [PYTHON, "-m", "accelerate.commands.launch", *several, f"--num_processes={ranks}", "--num_machines=1",
            "--mixed_precision=no", "--dynamo_backend=no", JOBS, "accelerate_loop"]


def slurm(task, tasks):
    """The variables that srun gives a task."""
    return {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": str(tasks), "SLURM_PROCID": str(task), "SLURM_LOCALID": str(task),
            "SLURM_NODEID": "0"}


def recipes(count):
    ranks = min(2, count)
    alone = [PYTHON, JOBS]
    job = lambda name: [({}, [*alone, name])]
    launched = lambda command: [({}, command)]
    return [
        Recipe("torchrun", ["torch"], launched(torchrun(ranks, "ddp", 29531)), "%j-r%r", ranks),
        Recipe("fsdp2", ["torch"], launched(torchrun(ranks, "fsdp2", 29533)), "r%r", ranks),
        Recipe("trainer", ["torch", "transformers", "accelerate"], launched(torchrun(ranks, "hf_trainer", 29534)),
               "r%r", ranks),
        Recipe("accelerate", ["torch", "accelerate"], launched(accelerate(ranks)), "r%r", ranks),
        Recipe("slurm-variables", ["torch"],
               [(slurm(task, ranks), [*alone, "slurm_ddp"]) for task in range(ranks)], "%j-r%r-l%l-n%n", ranks),
        Recipe("torchrun-one-gpu", ["torch"], launched(torchrun(2, "ddp", 29532)), "%j-r%r", 2, one_gpu=True),
        Recipe("dataloader", ["torch"], job("dataloader"), "%p", 1),
        Recipe("jax", ["jax"], job("jax_jit"), "%p", 1, with_torch=False),
        Recipe("cupy", ["cupy"], job("cupy_sum"), "%p", 1, with_torch=False),
        Recipe("triton", ["torch", "triton"], job("triton_add"), "%p", 1),
        Recipe("serve", ["torch"], job("serve"), "%p", ranks, is_alone=True),
        Recipe("oom-of-a-rank", ["torch"], launched(torchrun(ranks, "rank_oom", 29536)), "r%r", ranks,
               is_alone=True, failing=ranks - 1),
    ]


class Attempt:
    def __init__(self, recipe, gpuprof, work):
        self.recipe, self.gpuprof = recipe, gpuprof
        self.folder = os.path.join(work, recipe.name)
        self.peaks_out = os.path.join(work, recipe.name + ".peaks")
        self.faults, self.notes, self.took_s = [], [], 0.0

    def fault_unless(self, holds, text):
        if not holds:
            self.faults.append(text)

    def start(self, at, variables, command):
        given = {"PEAKS_OUT": self.peaks_out, **variables}
        if self.recipe.one_gpu:
            given["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        whole = [self.gpuprof, "run", "-q", "-o", os.path.join(self.folder, self.recipe.pattern + ".gpr"), "--", *command]
        with open(f"{self.folder}.{at}.out", "w") as out:  # a file, which children of a killed job cannot block
            return subprocess.Popen(whole, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **given},
                                    start_new_session=True)

    def run(self):
        """Starts all commands and waits for each; ends those that take too long."""
        begin = time.monotonic()
        started = [self.start(at, *start) for at, start in enumerate(self.recipe.starts)]
        for process in started:
            try:
                status = process.wait(timeout=max(1, begin + LIMIT_S - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.end(process)
                status = f"no end within {LIMIT_S} s"
            expected = status == 0 if self.recipe.failing is None else status in range(1, 128)
            self.fault_unless(expected, f"exit {status}")
        self.took_s = time.monotonic() - begin

    @staticmethod
    def end(process):
        """Ends torchrun's workers by a SIGTERM to torchrun: they have sessions of their own."""
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def said(self):
        text = ""
        for at in range(len(self.recipe.starts)):
            with open(f"{self.folder}.{at}.out", errors="replace") as out:
                text += out.read()
        return text

    def ask(self, *arguments):
        """The command's output; None when it fails."""
        done = subprocess.run([self.gpuprof, *arguments], capture_output=True, text=True)
        if done.returncode:
            self.faults.append(f"gpuprof {' '.join(arguments)}: exit {done.returncode} {done.stderr.strip()[:200]}")
            return None
        return done.stdout

    def look(self, command, path):
        """The JSON of one recording; None when there is none."""
        text = self.ask(command, "--json", path)
        found = json.loads(text) if text else None
        return found[0] if isinstance(found, list) else found

    def judge_rank(self, rank, recordings):
        """Checks a recording: it has its process's peaks. Returns its device's UUID."""
        try:
            with open(f"{self.peaks_out}.{rank}") as file:
                truth = json.load(file)
        except (OSError, ValueError) as error:
            self.faults.append(f"rank {rank} wrote no peaks: {error}")
            return None
        mine = [path for path, info in recordings.items() if info["pid"] == truth["pid"]]
        self.fault_unless(len(mine) == 1, f"rank {rank}: {len(mine)} recordings of process {truth['pid']}")
        timeline = self.look("timeline", mine[0]) if len(mine) == 1 else None
        if not timeline:
            return None
        name = os.path.basename(mine[0])
        self.fault_unless("%r" not in self.recipe.pattern or f"r{rank}" in name.replace(".gpr", "").split("-"),
                          f"rank {rank} is recorded in {name}")
        seen = {device["device"]: device for device in timeline["devices"]}.get(truth["device"], {})
        for key in PEAKS:
            self.fault_unless(seen.get(key) == truth[key], f"rank {rank} {key}: recorded {seen.get(key)}, PyTorch {truth[key]}")
        self.notes.append(f"rank {rank}, GPU {truth['device']}: allocated {truth[PEAKS[0]]}, reserved {truth[PEAKS[1]]}, "
                          f"driver {seen.get('driver_peak_bytes')}")
        uuids = {device["device"]: device["uuid"] for device in recordings[mine[0]]["devices"]}
        return uuids.get(truth["device"])

    def judge_driver(self, path):
        timeline = self.look("timeline", path)
        peaks = [device["driver_peak_bytes"] for device in timeline["devices"]] if timeline else []
        self.fault_unless(any(peaks), f"no peak in {os.path.basename(path)}")
        self.notes.append(f"driver {', '.join(map(str, peaks))}")

    def judge_merged(self, paths):
        """Checks that the folder's tables have a row for each rank, and that `oom` names the failed one."""
        for command in ("info", "peak"):
            table = self.ask(command, self.folder) or ""
            for path in paths:
                # tables omit the common part of all names: the folder and the suffix
                name = os.path.basename(path).removesuffix(".gpr")
                self.fault_unless(name in table, f"{command} of the folder does not name {name}")
        answer = (self.ask("oom", self.folder) or "").splitlines()
        if self.recipe.failing is None:
            self.fault_unless(answer[:1] == [f"memory did not run out in {len(paths)} recordings"],
                              f"oom of the folder: {answer[:1]}")
            return
        first = f"first OOM: r{self.recipe.failing}, at "
        self.fault_unless(bool(answer) and answer[0].startswith(first),
                          f"oom of the folder does not begin with '{first}'")
        self.fault_unless(any(line.startswith("cause     capacity: ") for line in answer), "oom names another cause")
        self.notes.append("oom of the folder:" + "".join("\n     | " + line for line in answer))

    def judge(self):
        recipe = self.recipe
        paths = sorted(glob.glob(os.path.join(glob.escape(self.folder), "*.gpr")))
        self.fault_unless(len(paths) == recipe.ranks,
                          f"{recipe.ranks} recording(s) expected, found {[os.path.basename(path) for path in paths]}")
        ended = sum(line.startswith(f"done {recipe.job} ") for line in self.said().splitlines())
        wanted = 0 if recipe.failing is not None else recipe.ranks if recipe.job != "serve" else 1
        self.fault_unless(ended == wanted, f"{ended} last lines of {wanted}")
        recordings = {path: info for path in paths if (info := self.look("info", path))}
        if not recipe.with_torch:
            for path in paths:
                self.judge_driver(path)
            return
        uuids = [self.judge_rank(rank, recordings) for rank in range(recipe.ranks)]
        known = {uuid for uuid in uuids if uuid}
        self.fault_unless(len(known) == (1 if recipe.one_gpu else recipe.ranks), f"GPUs of the ranks: {uuids}")
        if recipe.ranks > 1:
            self.judge_merged(paths)

    def row(self):
        shown = "; ".join(shlex.join([f"{name}={value}" for name, value in variables.items()] + command)
                          for variables, command in self.recipe.starts)
        shown = shown.replace(PYTHON, "python3").replace(HERE + "/", "")
        text = f"{'FAIL' if self.faults else 'PASS'} recipes {self.recipe.name}: {shown}; {self.took_s:.1f} s"
        text += "".join(f"\n     {line}" for line in self.notes)
        if self.faults:
            text += "".join(f"\n     wrong: {line}" for line in self.faults)
            text += "".join(f"\n     > {line}" for line in self.said().splitlines()[-15:])
        return text

    def go(self):
        os.makedirs(self.folder)
        try:
            self.run()
            self.judge()
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        print(self.row(), flush=True)
        return not self.faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    begin, count, work = time.monotonic(), gpus(), os.path.abspath(args.work)
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")

    def attempt(recipe):
        missing = [module for module in recipe.modules if importlib.util.find_spec(module) is None]
        late = time.monotonic() - begin > ALL_S - LIMIT_S
        if missing or late or not count:
            why = f"no {', '.join(missing)}" if missing else "no GPU" if not count else f"no time left of {ALL_S} s"
            print(f"SKIP recipes {recipe.name}: {why}", flush=True)
            return True
        return Attempt(recipe, args.gpuprof, work).go()

    chosen = [recipe for recipe in recipes(count) if not args.names or recipe.name in args.names]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        went_well = list(pool.map(attempt, [recipe for recipe in chosen if not recipe.is_alone]))
    went_well += [attempt(recipe) for recipe in chosen if recipe.is_alone]
    print(f"     recipes: {sum(went_well)} of {len(chosen)} went well or were skipped, "
          f"{time.monotonic() - begin:.0f} s, {count} GPUs")
    return not all(went_well)


if __name__ == "__main__":
    sys.exit(main())
