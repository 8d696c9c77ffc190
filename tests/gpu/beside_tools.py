"""Runs jobs beside other tools on a real GPU, bare and recorded: output and exit status must be the same.

beside_tools.py --build BUILD --work DIRECTORY [--only STEP...]
Prints one PASS, FAIL or SKIP line a claim. Each step has a time limit. --cuda-job, --torch-job and
--probe-job WORDS run other jobs, so that the script can be tried on the fake driver.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from memory_group import MemoryGroup

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
STEP_SECONDS = 60
NO_END = "killed when its time was up"
WORKERS = 64
HEADROOM_BYTES = 256 * MIB
APART = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh"]  # tools print on stdout, too
Ended = collections.namedtuple("Ended", "status job tool name")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--build", type=pathlib.Path, required=True)
parser.add_argument("--work", type=pathlib.Path, required=True)
parser.add_argument("--only", nargs="*")
parser.add_argument("--cuda-job", type=shlex.split)
parser.add_argument("--torch-job", type=shlex.split)
parser.add_argument("--probe-job", type=shlex.split)
args = parser.parse_args()
BUILD, WORK = args.build.resolve(), args.work.resolve()
OURS, GPUPROF = str(BUILD / "libgpuprof.so"), str(BUILD / "gpuprof")
TRAIN = args.torch_job or [sys.executable, str(HERE / "gpt_train.py")]
SMALL = [*TRAIN, "--layers", "2", "--width", "128", "--steps", "3"]
PROBE = args.probe_job or [sys.executable, str(HERE / "beside_tools_job.py")]
CUDA = args.cuda_job or [str(BUILD / "kernels" / "mlp_train"), "--steps", "3"]


class Report:
    """Lines of one step, printed together, because steps run at the same time."""

    def __init__(self, step):
        self.step, self.lines = step, []

    def claim(self, what, holds, figures=None):
        figures = "" if figures is None else f": {figures}"
        self.lines.append(f"{'PASS' if holds else 'FAIL'} {self.step}: {what}{figures}")
        return holds

    def skip(self, why):
        self.lines.append(f"SKIP {self.step}: {why}")

    def note(self, text):
        self.lines += ["     " + line for line in text.strip().splitlines()[-6:]]


def preload(**more):
    return {"LD_PRELOAD": OURS, **more}


def start(name, argv, env, **more):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
    plain.update(GPUPROF_OUTPUT=str(WORK / f"{name}-%p.gpr"), **env)
    with open(WORK / f"{name}.tool", "w") as tool:
        return subprocess.Popen(argv, env=plain, stderr=subprocess.STDOUT, start_new_session=True,
                                **{"stdout": tool, "cwd": WORK, **more})


def ended(name, process, seconds=STEP_SECONDS):
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        status = NO_END
    job = WORK / f"{name}.job"
    return Ended(status, job.read_bytes() if job.exists() else b"", (WORK / f"{name}.tool").read_text(errors="replace"),
                 name)


def run(name, tool, job, env=None, **more):
    """TOOL... JOB..., where the job's stdout goes to a file of its own"""
    return ended(name, start(name, [*tool, *APART, str(WORK / f"{name}.job"), *job], env or {}, **more))


def alike(report, what, bare, recorded):
    if bare.status == recorded.status == NO_END:
        report.skip(f"{what}: the tool does not end in time, also without us")
    else:
        report.claim(f"{what}: exit status as without us", bare.status == recorded.status,
                     f"{recorded.status}, without {bare.status}")
    is_same = report.claim(f"{what}: output as without us", bare.job == recorded.job and bool(bare.job),
                           f"{len(recorded.job.splitlines())} lines")
    if bare.status != recorded.status or not is_same:
        report.note(recorded.tool)
        report.note((recorded.job or b"no output of the job").decode(errors="replace"))


def ask(command, recording):
    done = subprocess.run([GPUPROF, command, "--json", recording], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return {}
    said = json.loads(done.stdout)
    return said[0] if isinstance(said, list) else said


def whole(report, what, name, number=1):
    """Checks the number of recordings that NAME left; returns the sums of their figures"""
    found = sorted(glob.glob(str(WORK / f"{name}-*.gpr")))
    sums = collections.Counter()
    is_sound = len(found) >= 1
    for recording in found:
        verified = subprocess.run([GPUPROF, "verify", recording], capture_output=True, text=True, timeout=60)
        info = ask("info", recording)
        is_sound &= verified.returncode == 0 and bool(info)
        sums["lost"] += info.get("lost", {}).get("memory", 0)
        sums["missed"] += info.get("self_check", {}).get("missed_routes", 0)
        sums["wrong"] += info.get("self_check", {}).get("mismatches", 0) + info.get("self_check", {}).get("anomalies", 0)
        for kind in ("launch", "alloc", "block_alloc"):
            sums[kind] += info.get("events", {}).get(kind, 0)
    report.claim(f"{what}: recording is whole", is_sound and len(found) == number and not sums["lost"] and not sums["wrong"],
                 f"{len(found)} recording(s), {sums['lost']} memory events lost, {sums['wrong']} wrong")
    return sums


def plain_recording(report, name, job):
    """The figures of the job's recording without a tool"""
    done = run(name, [], job, preload())
    report.claim("recorded without a tool ends well", done.status == 0, done.status)
    return whole(report, "without a tool", name)


def tool_path(name, pattern=None):
    found = shutil.which(name) or next(iter(sorted(glob.glob(pattern)) if pattern else []), None)
    return [found] if found else None


# ---- the tools ----

def kernels_in(log):
    path = WORK / log
    return path.read_text(errors="replace").count("Context 1, Stream") if path.exists() else 0


def ncu(report, kind, job):
    found = tool_path("ncu")
    if not found:
        return report.skip("no ncu here")
    truth = plain_recording(report, f"ncu_{kind}_plain", job)

    def ncu_words(name, *more):
        return [*found, "--clock-control", "none", "--launch-count", "3", "--section", "LaunchStats",
                "--log-file", str(WORK / f"{name}.report"), "-f", *more]

    bare = run(f"ncu_{kind}_bare", ncu_words(f"ncu_{kind}_bare"), job)
    expected = kernels_in(f"ncu_{kind}_bare.report")
    report.claim("ncu without us profiles", bare.status == 0 and expected > 0, f"{expected} kernels, exit {bare.status}")
    recorder = [GPUPROF, "run", "-q", "--no-symbolize", "--"]
    for what, before, inside, env in (
            ("LD_PRELOAD before ncu", [], [], preload()),
            ("LD_PRELOAD before ncu, no NVTX", [], [], preload(GPUPROF_NVTX="off")),
            ("LD_PRELOAD inside ncu", [], ["env", f"LD_PRELOAD={OURS}"], {}),
            ("gpuprof run inside ncu", [], recorder, {}),
            ("gpuprof run before ncu", recorder, [], {})):
        name = "ncu_" + kind + "_" + re.sub(r"\W+", "_", what)
        words = [*before, *ncu_words(name, *(["--target-processes", "all"] if inside else [])), *inside]
        done = run(name, words, job, env)
        alike(report, what, bare, done)
        seen = kernels_in(f"{name}.report")
        report.claim(f"{what}: ncu's report", seen == expected, f"{seen} kernels, without us {expected}")
        sums = whole(report, what, name)
        is_stated = all(sums[k] == truth[k] for k in ("launch", "alloc", "block_alloc")) or sums["missed"] > 0
        report.claim(f"{what}: what is not seen is stated", is_stated,
                     f"{sums['launch']} of {truth['launch']} launches, {sums['missed']} look-ups missed")


def ncu_cuda(report):
    ncu(report, "cuda", CUDA)


def ncu_torch(report):
    ncu(report, "torch", SMALL)


def nsys(report):
    found = tool_path("nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    if not found:
        return report.skip("no nsys here")
    for kind, job in (("cuda", CUDA), ("torch", SMALL)):
        names = (f"nsys_{kind}_bare", f"nsys_{kind}")
        # nsys may hang after the job, so the job prints a line when it ends
        job = ["sh", "-c", '"$@"; echo "job ended with $?"', "sh", *job]
        running = [start(name, [*found, "profile", "-o", str(WORK / name), "--force-overwrite", "true",
                                *APART, str(WORK / f"{name}.job"), *job], env)
                   for name, env in zip(names, ({}, preload()))]
        bare, recorded = (ended(name, process, 40) for name, process in zip(names, running))
        report.claim(f"nsys profile, {kind} job: the job ends well", b"job ended with 0" in recorded.job)
        alike(report, f"nsys profile, {kind} job", bare, recorded)
        whole(report, f"nsys profile, {kind} job", names[1])


def sanitizer(report):
    found = tool_path("compute-sanitizer")
    if not found:
        return report.skip("no compute-sanitizer here")
    done = []
    for name, env in (("sanitizer_bare", {}), ("sanitizer", preload())):
        words = [*found, "--log-file", str(WORK / f"{name}.report"), "--error-exitcode", "9"]
        done.append(start(name, [*words, *APART, str(WORK / f"{name}.job"), *SMALL], env))
    done = [ended(name, process) for name, process in zip(("sanitizer_bare", "sanitizer"), done)]
    alike(report, "compute-sanitizer", *done)
    said = [re.findall(r"ERROR SUMMARY: .*", (WORK / f"{d.name}.report").read_text()) if
            (WORK / f"{d.name}.report").exists() else [] for d in done]
    report.claim("compute-sanitizer's report", said[0] == said[1] and said[0] != [], f"{said[1]}, without us {said[0]}")
    whole(report, "compute-sanitizer", "sanitizer")


def cuda_gdb(report):
    found = tool_path("cuda-gdb")
    if not found:
        return report.skip("no cuda-gdb here")
    job = [*TRAIN, "--layers", "4", "--width", "128", "--steps", "300"]
    bare = run("gdb_bare", [], job)
    attached = start("gdb", job, preload(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE)
    lines = []
    for line in attached.stdout:
        lines.append(line)
        if line.startswith(b"step 3 "):
            break
    seconds = time.monotonic()
    debugger = subprocess.run(["timeout", "-k", "5", "90", *found, "-nx", "-batch", "-p", str(attached.pid),
                               "-ex", "backtrace 3", "-ex", "detach"], capture_output=True, text=True)
    report.claim("cuda-gdb attaches to a running job and detaches",
                 "detached" in debugger.stdout and "#0 " in debugger.stdout,
                 f"{time.monotonic() - seconds:.0f} s, exit {debugger.returncode}")
    if "detached" not in debugger.stdout:
        report.note(debugger.stdout + debugger.stderr)
    (WORK / "gdb.job").write_bytes(b"".join(lines) + attached.stdout.read())
    alike(report, "cuda-gdb attached", bare, ended("gdb", attached))
    whole(report, "cuda-gdb attached", "gdb")


def profiler(report):
    bare = run("bursts_bare", [], [*PROBE, "bursts"])
    recorded = run("bursts", [], [*PROBE, "bursts", GPUPROF], preload(GPUPROF_START="off"))
    alike(report, "torch.profiler before and after recording starts", bare, recorded)
    sums = whole(report, "recording from the second profile on", "bursts")
    report.claim("launches of the two later profiles are recorded", 4000 <= sums["launch"] < 6000, sums["launch"])


def normal(done):
    """Masks addresses, which differ from run to run"""
    return done._replace(job=re.sub(rb"0x[0-9a-f]+", b"ADDRESS", done.job + done.tool.encode()))


def faulthandler(report):
    for how in ("later", "segv"):
        names = (f"faulthandler_{how}_bare", f"faulthandler_{how}")
        running = [start(name, [*APART, str(WORK / f"{name}.job"), *PROBE, how], env)
                   for name, env in zip(names, ({}, preload()))]
        bare, recorded = (normal(ended(name, process)) for name, process in zip(names, running))
        report.claim(f"faulthandler prints a traceback ({how})", b"beside_tools_job.py" in bare.job or args.probe_job)
        alike(report, f"faulthandler, {how}", bare, recorded)
        whole(report, f"faulthandler, {how}", names[1])


def workers(report):
    job = [*SMALL[:-1], "70", "--dataloader-workers", str(WORKERS)]
    names = ("workers_bare", "workers")
    running = [start(name, [*APART, str(WORK / f"{name}.job"), *job], env)
               for name, env in zip(names, ({}, preload()))]
    alike(report, f"{WORKERS} DataLoader workers", *(ended(n, p, 120) for n, p in zip(names, running)))
    whole(report, f"{WORKERS} DataLoader workers", "workers")


def memory_limit(report):
    """256 MiB above what the bare job needs, where a control group can be made"""
    run("limit_warm", [], SMALL)  # so that the bare job is not charged for the file cache
    with MemoryGroup() as group:
        if not group.is_there:
            return report.skip("no memory control group can be made here, and CUDA reserves too much for RLIMIT_AS")
        bare = run("limit_bare", [], SMALL, preexec_fn=group.enter)
        needed = group.peak()
    with MemoryGroup(needed + HEADROOM_BYTES) as group:
        recorded = run("limit", [], SMALL, preload(), preexec_fn=group.enter)
        report.claim("memory limit: kept", group.peak() <= needed + HEADROOM_BYTES,
                     f"{group.peak() / MIB:.0f} MiB of {needed / MIB:.0f} + {HEADROOM_BYTES / MIB:.0f} MiB")
    alike(report, "memory limit", bare, recorded)
    whole(report, "memory limit", "limit")


# steps that run at the same time: only one debugger or counter uses the GPU
GROUPS = ((ncu_cuda, faulthandler), (ncu_torch,), (nsys, workers), (profiler, sanitizer), (cuda_gdb, memory_limit))


def safely(step):
    report = Report(step.__name__)
    began = time.monotonic()
    try:
        step(report)
    except Exception as e:  # an exception fails its own step, not the others
        report.claim("goes to its end", False, f"{type(e).__name__}: {e}")
    report.lines.append(f"     {step.__name__}: {time.monotonic() - began:.0f} s")
    return report


def main():
    for group in GROUPS:
        steps = [s for s in group if not args.only or s.__name__ in args.only]
        with concurrent.futures.ThreadPoolExecutor(max(1, len(steps))) as pool:
            for report in pool.map(safely, steps):
                print("\n".join(report.lines), flush=True)


main()
