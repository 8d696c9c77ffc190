"""Runs ten jobs of other sections, and compares each number line with the job's own calls of cuMemGetInfo.

judge_moments.py --gpuprof PROGRAM --work DIRECTORY [--pool LIBRARY] [JOB...]: LIBRARY is libsleeping_pool.so. Jobs note
MOMENTS moments each (note_moment.py). They use the device one after another: each would change the free memory of the
others. At each moment, free memory and the sum of the named owners must be right within SHARE of the device.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
MOMENTS = 10
SHARE = 0.001
LIMIT_S = 90  # of a job, from its turn
EXPANDABLE = "expandable_segments:True"
JOBS = {  # the script and its arguments; WORK and POOL are replaced
    "eager": "gpt_train.py --steps 10",
    "graph": "gpt_train.py --steps 7 --graph",
    "compile": "gpt_train.py --steps 10 --layers 2 --compile",
    "resnet": "role_jobs.py resnet --steps 10 --out WORK/moments-resnet.json",
    "llama": "module_jobs.py llama WORK/moments-llama.json --steps 10",
    "checkpoint": "role_jobs.py checkpoint --steps 10 --out WORK/moments-checkpoint.json",
    "serving": "paged_server.py POOL",
    "expandable": "gpt_train.py --steps 10",
    "async": "async_backend.py",
    "planted": "number_line.py --planted",
}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--gpuprof", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--pool", default="")
    p.add_argument("jobs", nargs="*", metavar="JOB")
    return p.parse_args()


def claim(what, holds, figures):
    print(f"{'PASS' if holds else 'FAIL'} moments: {what}: {figures}", flush=True)
    return not holds


class Job:
    def __init__(self, args, name):
        self.args, self.name, self.answers = args, name, []
        self.recording, self.out, self.err = (f"{args.work}/moments-{name}.{kind}" for kind in ("gpr", "moments", "err"))
        words = JOBS[name].replace("WORK", args.work).replace("POOL", args.pool).split()
        settings = {"MOMENTS_OUT": self.out, "SNAPSHOTS_OUT": f"{args.work}/moments-{name}.looks"}
        if name == "expandable":
            settings.update(PYTORCH_ALLOC_CONF=EXPANDABLE, PYTORCH_CUDA_ALLOC_CONF=EXPANDABLE)
        with open(self.err, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(
                [args.gpuprof, "run", "-q", "--no-symbolize", "-o", self.recording, "--", sys.executable,
                 f"{HERE}/{words[0]}", *words[1:]], env={**os.environ, **settings}, stdin=subprocess.PIPE, stdout=err,
                stderr=err, start_new_session=True)

    def run(self):
        """Gives the job its turn, and waits for its end."""
        try:
            self.process.communicate(b"\n", timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ask(self, *words):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
        done = subprocess.run([self.args.gpuprof, *words, "--json", self.recording], capture_output=True, text=True,
                              env=plain)
        if done.returncode:
            sys.exit(f"FAIL moments: {self.name}: gpuprof {' '.join(words)}: exit {done.returncode}: "
                     f"{done.stderr.strip()}")
        return json.loads(done.stdout)

    def ask_all(self, pool):
        """Reads the number line at each moment, while later jobs run."""
        if self.process.returncode:
            return
        with open(self.out, encoding="utf-8") as file:
            moments = list(map(json.loads, file))
        start_ns = self.ask("info")["start_unix_ns"]
        for moment in moments:
            at = f"{(moment['unix_ns'] - start_ns) / 1e9:.6f}s"
            self.answers.append((moment, at, pool.submit(self.ask, "frag", "--at", at)))

    def judge(self):
        if claim(f"{self.name}: the job ends well and notes {MOMENTS} moments",
                 self.process.returncode == 0 and len(self.answers) == MOMENTS,
                 f"exit {self.process.returncode}, {len(self.answers)} moments"):
            with open(self.err, encoding="utf-8") as err:
                print("".join("     " + line for line in err.readlines()[-5:]), end="")
            return True
        gaps, free_off, owners_off = [], [], []
        for moment, at, answer in self.answers:
            device = next((d for d in answer.result()["devices"] if d["driver_used_bytes"] is not None), None)
            if device is None:
                return claim(f"{self.name}: the driver's count is known", False, at)
            used, owners = device["driver_used_bytes"], device["owners"]
            gaps.append(sum(owners.values()) - used)
            named = sum(owners.values()) - owners["unattributed"]
            free_off.append((abs(device["total_bytes"] - used - moment["free"]), at, owners))
            owners_off.append((abs(named - (moment["total"] - moment["free"])), at, owners))
        most = SHARE * moment["total"]
        failed = claim(f"{self.name}: owners and unattributed add up to the driver's count", not any(gaps), gaps)
        for what, off in (("free memory", free_off), ("the sum of named owners", owners_off)):
            largest, at, owners = max(off, key=lambda x: x[0])
            failed |= claim(f"{self.name}: {what} differs by at most {most / MIB:.0f} MiB at {len(off)} moments",
                            largest <= most, f"{largest / MIB:.1f} MiB, {largest / moment['total']:.4%} of the device")
            if largest > most:
                print(f"     at {at}: {owners}")
        return failed


def main():
    args = parse()
    names = args.jobs or list(JOBS)
    if not os.path.exists(args.pool) and "serving" in names:
        print("SKIP moments: serving: libsleeping_pool.so was not built (no CUDA headers)")
        names.remove("serving")
    jobs = [Job(args, name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        for job in jobs:
            job.run()
            job.ask_all(pool)
    return any([job.judge() for job in jobs])


if __name__ == "__main__":
    sys.exit(main())
