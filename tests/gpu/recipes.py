"""Tries what docs/RECIPES.md says, on this machine: one PASS, FAIL or SKIP line a recipe, with its command, recordings and peaks.

recipes.py --gpuprof PATH --work FOLDER [NAME...]
"""
import argparse
import glob
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PYTHON", sys.executable)
JOBS = os.path.join(HERE, "recipe_jobs.py")
LIMIT_S = 60  # of one recipe
ALL_S = 200  # of all of them: those behind it are skipped


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


def recipes(count):
    """Name, modules that it needs, command, pattern of its recordings, how many there are."""
    alone, ranks = [PYTHON, JOBS], 2 if count > 1 else 1
    slurm = ["env", "SLURM_JOB_ID=4711", "SLURM_PROCID=3", "SLURM_LOCALID=1", "SLURM_NODEID=0", *alone, "dataloader"]
    return [
        ("torchrun", ["torch"], torchrun(1, "ddp", 29531), "%j-r%r", 1),
        ("torchrun-two-ranks", ["torch"], torchrun(2, "ddp", 29532), "%j-r%r", 2),
        ("fsdp2", ["torch"], torchrun(ranks, "fsdp2", 29533), "r%r", ranks),
        ("trainer", ["torch", "transformers", "accelerate"], torchrun(ranks, "hf_trainer", 29534), "r%r", ranks),
        ("accelerate", ["torch", "accelerate"],
         [PYTHON, "-m", "accelerate.commands.launch", "--num_processes=1", "--num_machines=1", "--mixed_precision=no",
          "--dynamo_backend=no", JOBS, "accelerate_loop"], "%p", 1),
        ("dataloader", ["torch"], [*alone, "dataloader"], "%p", 1),
        ("slurm-variables", ["torch"], slurm, "%j-r%r-l%l-n%n", 1),
        ("jax", ["jax"], [*alone, "jax_jit"], "%p", 1),
        ("cupy", ["cupy"], [*alone, "cupy_sum"], "%p", 1),
        ("triton", ["torch", "triton"], [*alone, "triton_add"], "%p", 1),
        ("serve", ["torch"], [*alone, "serve"], "%p", ranks),
    ]


def peaks_of(gpuprof, paths):
    """The lines of `timeline` that name the peak of what the driver gave; [] where it cannot be read."""
    lines = []
    for path in paths:
        report = subprocess.run([gpuprof, "timeline", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = [line.split("peak ", 1)[1].strip() for line in report.stdout.splitlines()
                 if " driver " in line and "peak " in line]
        if report.returncode or not found:
            return []
        lines.append(found[0])
    return lines


def attempt(name, command, pattern, expected, gpuprof, work):
    """None: it went well; else why it did not. And the row to print."""
    whole = [gpuprof, "run", "-q", "-o", os.path.join(work, f"{name}-{pattern}.gpr"), "--", *command]
    start = time.monotonic()
    try:
        ended = subprocess.run(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
        status, said = ended.returncode, ended.stdout
    except subprocess.TimeoutExpired as late:
        status, said = "no end", (late.stdout or b"").decode(errors="replace")
    took_s = time.monotonic() - start
    paths = sorted(glob.glob(os.path.join(glob.escape(work), name + "-*.gpr")))
    peaks = peaks_of(gpuprof, paths)
    why = (f"ended with {status}" if status else
           "its last line is missing" if "done " not in said else
           f"{expected} recording(s) expected" if len(paths) != expected else
           "no peak in a recording" if not peaks else None)
    shown = shlex.join(command).replace(PYTHON, "python3").replace(HERE + "/", "")
    row = f"recipes {name}: {shown}; {len(paths)} recording(s), {took_s:.1f} s; driver peak {'; '.join(peaks) or '-'}"
    if why:
        row += f": {why}\n" + "\n".join("     " + line for line in said.splitlines()[-12:])
    return why, row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    count, begin, failed = gpus(), time.monotonic(), 0
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for name, modules, command, pattern, expected in recipes(count):
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if args.names and name not in args.names:
            continue
        if missing or not count:
            print(f"SKIP recipes {name}: {'no ' + ', '.join(missing) if missing else 'no GPU'}", flush=True)
            continue
        if time.monotonic() - begin > ALL_S - LIMIT_S:
            print(f"SKIP recipes {name}: no time left of {ALL_S} s", flush=True)
            continue
        work = os.path.join(args.work, name)
        os.makedirs(work, exist_ok=True)
        why, row = attempt(name, command, pattern, expected, args.gpuprof, work)
        print("FAIL" if why else "PASS", row, flush=True)
        failed += why is not None
        if not why:
            shutil.rmtree(work)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
