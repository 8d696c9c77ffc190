"""Checks `gpuprof peak --by role` against a job's sums over its own tensors. One PASS or FAIL line a claim.

judge_roles.py --name NAME --gpuprof PROGRAM --recording FILE --moments FILE [--gathered]: role_jobs.py wrote the
moments. --gathered: the job cannot list parameters that FSDP has gathered, so weights may be more.
"""
import argparse
import json
import os
import subprocess
import sys

EQUAL = ("weights", "gradients", "optimizer", "kv_cache")
OTHER_MOST, WRONG_MOST = 0.02, 0.005  # of the bytes: without their role, and with a wrong one instead of unknown
# MemTracker's categories. It separates what forward and backward made; roles, what outlives the forward.
TRACKED = {"weights": ("Parameter", "Buffer"), "gradients": ("Gradient",), "optimizer": ("Optstate",),
           "inputs": ("Other",), "activations": ("Activation", "Temp")}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("name", "gpuprof", "recording", "moments"):
        p.add_argument(f"--{option}", required=True)
    p.add_argument("--gathered", action="store_true")
    return p.parse_args()


class Judge:
    def __init__(self, args):
        self.args, self.failures = args, 0

    def ask(self, *words):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "LD_PRELOAD"))}
        done = subprocess.run([self.args.gpuprof, *words, self.args.recording], capture_output=True, text=True,
                              env=plain)
        if done.returncode:
            sys.exit(f"FAIL {self.args.name}: gpuprof {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def claim(self, what, holds, figures):
        self.failures += not holds
        print(f"{'PASS' if holds else 'FAIL'} {self.args.name}: {what}: {figures}", flush=True)

    def judge(self, moment, start_unix_ns):
        name, truth, failures = moment["name"], moment["bytes"], self.failures
        at = f"{(moment['unix_ns'] - start_unix_ns) / 1e9:.6f}s"
        words = ("peak", "--by", "role", "--of", "allocated", "--at", at)
        curves = json.loads(self.ask(*words, "--json", "--no-stacks"))["curves"]
        live = sum(c["live_bytes"] for c in curves)
        self.claim(f"{name}: allocated bytes", live == moment["allocated"],
                   f"recorded {live}, PyTorch {moment['allocated']}")
        seen = {g["key"]: g["bytes"] for c in curves for g in c["groups"]}
        for role in (r for r in EQUAL if r in truth):
            own = seen.get(role, 0)
            is_more = self.args.gathered and role == "weights" and own >= truth[role]
            self.claim(f"{name}: bytes of {role}", own == truth[role] or is_more,
                       f"recorded {own}, the job's tensors {truth[role]}{' and gathered ones' if is_more else ''}")
        if "tracked" in moment:
            self.judge_tracked(name, moment["tracked"], seen)
        else:
            self.judge_bytes(name, "allocated", live, truth, seen)
        if self.failures > failures:
            print("\n".join("     " + line for line in self.ask(*words, "--why").splitlines()[:40]))

    def judge_bytes(self, name, of, total, truth, seen):
        """Bytes of `total` with their role. Of sums alone, so these are the fewest that can be wrong: those that a role
        has too many, or those that a role lacks and that are not unknown."""
        more = {role: seen.get(role, 0) - count for role, count in truth.items()}
        if self.args.gathered:  # the job cannot list all weights
            more["weights"] = min(more["weights"], 0)
        excess, lack = (sum(max(sign * n, 0) for n in more.values()) for sign in (1, -1))
        unknown = seen.get("unknown", 0)
        wrong = max(excess, lack - unknown, 0)
        other = wrong + unknown
        self.claim(f"{name}: bytes with a wrong role", total > 0 and wrong <= WRONG_MOST * total,
                   f"{wrong} of {total} {of}, {wrong / max(total, 1):.4%}")
        self.claim(f"{name}: bytes with their role", total > 0 and other <= OTHER_MOST * total,
                   f"{total - other} of {total} {of}, {1 - other / max(total, 1):.4%}; too many {excess}, too few "
                   f"{lack}, unknown {unknown}; recorded {seen}, the job {truth}")

    def judge_tracked(self, name, tracked, seen):
        own = {**seen, "activations": seen.get("activations", 0) + seen.get("temporaries", 0)}
        truth = {role: sum(tracked.get(kind, 0) for kind in kinds) for role, kinds in TRACKED.items()}
        self.judge_bytes(name, "tracked", sum(truth.values()), truth, own)


def main():
    judge = Judge(parse())
    with open(judge.args.moments, encoding="utf-8") as file:
        moments = json.load(file)
    start_unix_ns = json.loads(judge.ask("info", "--json"))["start_unix_ns"]
    is_tracker = [m["name"] for m in moments] == ["tracker"]
    judge.claim("moments", is_tracker or len(moments) == 3, len(moments))
    for moment in moments:
        if "skip" in moment:
            print(f"SKIP {judge.args.name}: MemTracker: {moment['skip']}")
        else:
            judge.judge(moment, start_unix_ns)
    sys.exit(judge.failures > 0)


if __name__ == "__main__":
    main()
