"""Tests `gpuprof snapshot` on jobs whose memory is known to the byte. drive_snapshot.py WHAT"""
import concurrent.futures
import json
import os
import re
import select
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # beside the tests
from known_job import JOB, pid_of, say, start  # noqa: E402

ORDERS = [
    "allocate 1000",
    "allocate 3000000",
    "outside 9437184",
    "allocate 700000",
    "allocate 15000000",
    "release 1",
    "allocate 512",
    "release 0",
]


def ask(pid, *options):
    return subprocess.run(
        ["gpuprof", "snapshot", *options, str(pid)], stdout=-1, stderr=-1, text=True
    )


def state_of(answer):
    """Of the first device: live blocks, their bytes, the framework's bytes, those of others."""
    device = json.loads(answer.stdout)["devices"][0]
    sizes = [
        b["bytes"] for s in device["segments"] for b in s["blocks"] if b["state"] == "allocated"
    ]
    reserved = sum(s["bytes"] for s in device["segments"])
    assert (sum(sizes), reserved) == (device["allocated_bytes"], device["reserved_bytes"])
    others = sum(
        n for name, n in device["owners"].items() if name not in ("PyTorch", "unattributed")
    )
    return len(sizes), sum(sizes), others


def shown(pid):
    answer = ask(pid, "--json")
    assert answer.returncode == 0, (answer.returncode, answer.stderr)
    return state_of(answer)


def rounded(size):
    return (size + 511) // 512 * 512


def known():
    """Each order changes the report by exactly its memory; the job's output is unchanged."""
    job, bare = (start([sys.executable, "-c", JOB], record) for record in (True, False))
    held, outside = [], 0
    for order in ORDERS:
        assert say(job, order) == say(bare, order)
        word, number = order.split()
        if word == "allocate":
            held.append(rounded(int(number)))
        elif word == "release":
            held.pop(int(number))
        else:
            outside += int(number)
        state = shown(pid_of(job))
        print(order, *state, "as known" if state == (len(held), sum(held), outside) else "WRONG")
    print(*[process.communicate()[0] == "" and process.returncode for process in (job, bare)])
    marks = subprocess.run(
        ["gpuprof", "dump", "--json", "--kind", "snapshot_requested", "job.gpr"],
        stdout=-1,
        text=True,
    ).stdout.splitlines()
    print(len(marks), "marks, the last one number", json.loads(marks[-1])["number"])


def report():
    job = start([sys.executable, "-c", JOB])
    for order in ORDERS:
        say(job, order)
    for options in ((), ("--summary",), ("-o", "map.svg")):
        answer = ask(pid_of(job), *options)
        text = re.sub(r", at [0-9.]+ [a-z]+", "", answer.stdout)
        lines = text.splitlines()
        print(
            answer.returncode,
            *lines[1:4],
            *[line for line in lines[4:] if line.startswith("GPU")],
            sep="\n",
        )
        print(*[line.replace(os.getcwd(), "DIR") for line in lines if line.startswith("next")])
    print(open("map.svg").read(4))
    for top in 1, 2:
        answer = ask(pid_of(job), "--json", "--device", "0", "--top", str(top))
        found = json.loads(answer.stdout)
        print(top, [(d["device"], len(d["pins"])) for d in found["devices"]])
    for h in found["holders"]:
        print(h["device"], h["of"], h["live_bytes"], sum(g["bytes"] for g in h["groups"]))
    wide = [
        max(
            len(line)
            for line in ask(pid_of(job), "--map", "--columns", columns).stdout.splitlines()[1:-2]
        )
        for columns in ("60", "200")
    ]
    print("wider", wide[1] > wide[0] + 50)
    answer = ask(pid_of(job), "--device", "1")
    print(answer.returncode, answer.stderr.split(" of ")[0])
    job.communicate()


def code():
    """A job without PyTorch: its code by bytes, also by the pid of its parent process."""
    job = start([sys.executable, "-c", JOB], env={**os.environ, "GPUPROF_STACKS": "all"})
    say(job, "outside 9437184")
    say(job, "outside 1048576")
    pid = pid_of(job)
    for words in (("snapshot",), ("snapshot", "--summary"), ("snapshot", "--map"), ("ctl",)):
        answer = subprocess.run(["gpuprof", *words, str(job.pid)], stdout=-1, stderr=-1, text=True)
        text = answer.stderr + answer.stdout
        text = text.replace(str(job.pid), "RUN").replace(pid, "JOB").replace(os.getcwd(), "DIR")
        print(
            answer.returncode,
            re.sub(" +", " ", re.sub(r"[0-9.]+ [nmu]?s\b", "TIME", text)),
            sep="\n",
            end="",
        )
    job.communicate()


def growing():
    """The growth of a group uses the steps until now."""
    here = os.path.dirname(os.path.abspath(__file__))
    steps = (
        "import runpy, sys; sys.path[0] = %r; sys.argv[1:] = ['60']; "
        "runpy.run_path(%r); print('waits', flush=True); sys.stdin.readline()"
    )
    job = start([sys.executable, "-B", "-c", steps % (here, here + "/leak_on_one_gpu.py")])
    job.stdout.readline()
    pid = pid_of(job)
    lines = ask(pid).stdout.splitlines()
    print(
        *[
            re.sub(r"full in .*?\.$", "full in TIME.", line)
            for line in lines
            if line.startswith("so far")
        ]
    )
    print(json.loads(ask(pid, "--json").stdout)["leaks"]["verdict"])
    job.communicate("\n")


def storm():
    """Many snapshots, five at once, while a thread allocates and frees without a pause."""
    count = 100 if os.environ.get("FULL") else 40
    job, bare = (start([sys.executable, "-c", JOB], record) for record in (True, False))
    said = [
        [say(process, order) for order in ("allocate 5000000", "work 1")] for process in (job, bare)
    ]
    pid = pid_of(job)
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: ask(pid, "--json"), range(count)))
    states = [state_of(a) for a in answers if a.returncode == 0]
    # the constant memory, and some of the changing memory
    sums = [sum(rounded(1000 * k) for k in range(1, n + 1)) for n in range(50)]
    tails = [sums[-1] - part for part in sums]
    good = [s for s in states if s[1] - rounded(5000000) in sums + tails]
    for process, words in zip((job, bare), said):
        words.append(say(process, "rest 1") + process.communicate()[0])
    info = json.loads(subprocess.run(["gpuprof", "info", "--json", "job.gpr"], stdout=-1).stdout)
    print(
        "all" if len(states) == count else len(states),
        "answers,",
        "all" if len(good) == count else len(good),
        "states that were,",
        "the same output," if said[0] == said[1] else "OTHER OUTPUT,",
        info["self_check"]["mismatches"],
        "mismatches",
    )


def ended():
    """Kills the job by SIGKILL: its rings stay, and no process answers."""
    job = start([sys.executable, "-c", JOB])
    say(job, ORDERS[0])
    pid = int(pid_of(job))
    process = os.pidfd_open(pid)
    os.kill(job.pid, signal.SIGKILL)  # gpuprof would adopt them
    os.kill(pid, signal.SIGKILL)
    job.wait()
    select.select([process], [], [])  # all its threads have ended
    answer = ask(pid)
    print(answer.returncode, answer.stderr.replace(str(pid), "PID").replace(os.getcwd(), "DIR"))


def threads_run(pid):
    """A signal that stops a process takes time to reach each of its threads."""
    states = [
        open(f"/proc/{pid}/task/{t}/stat").read().rsplit(")")[1][1]
        for t in os.listdir(f"/proc/{pid}/task")
    ]
    return any(state != "T" for state in states)


def stopped():
    job = start([sys.executable, "-c", JOB])
    say(job, ORDERS[0])
    pid = int(pid_of(job))
    os.kill(pid, signal.SIGSTOP)
    while threads_run(pid):
        pass
    answer = ask(pid, "--wait", "1")
    print(answer.returncode, answer.stderr.replace(str(pid), "PID"))
    os.kill(pid, signal.SIGCONT)
    print(*shown(pid))
    job.communicate()


def refused():
    """An invalid output is an error before the request, which leaves a mark in the job."""
    job = start([sys.executable, "-c", JOB])
    say(job, "allocate 1000")
    open("old", "w").write("old")
    os.symlink("job.gpr", "link")
    for words in (
        ["old"],
        ["no/such"],
        ["job.gpr"],
        ["link", "--force"],
        ["old", "--force"],
        ["new.svg"],
    ):
        answer = subprocess.run(
            ["gpuprof", "snapshot", pid_of(job), "-o", *words],
            stderr=subprocess.STDOUT,
            stdout=-1,
            text=True,
        )
        print(answer.returncode, answer.stdout, end="" if answer.stdout else "\n")
    job.communicate()
    marks = subprocess.run(
        ["gpuprof", "dump", "--json", "--kind", "snapshot_requested", "job.gpr"],
        stdout=-1,
        text=True,
    ).stdout.count("\n")
    print(marks, "marks;", *sorted(os.listdir()), len(open("old").read()) > 3)


def nobody():
    """Processes that do not record, do not exist, or belong to another user."""
    for pid in (os.getpid(), 2**22 + 1):
        answer = ask(pid)
        print(answer.returncode, answer.stderr.replace(str(pid), "PID"))


def off():
    """Recording was never started: the answer reports that it is empty."""
    job = start([sys.executable, "-c", JOB], env={**os.environ, "GPUPROF_START": "off"})
    say(job, ORDERS[0])
    pid = pid_of(job)
    answer = ask(pid, "--json")
    print(
        answer.returncode, answer.stderr.replace(pid, "PID"), json.loads(answer.stdout)["devices"]
    )
    job.communicate()


globals()[sys.argv[1]]()
