"""Tests what is captured of jobs whose memory and launches are known. drive_capture.py WHAT"""
import glob
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile

JOB = """
import ctypes, os, signal, sys, threading
signal.alarm(200)  # whatever becomes of the test
cuda = ctypes.CDLL("libcuda.so.1")
context, address, module, kernel = (ctypes.c_void_p() for _ in range(4))
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), b"image") == 0
assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"gemm") == 0
table = (ctypes.c_void_p * 11).in_dll(ctypes.CDLL("libc10.so"), "fake_c10")
allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)(table[1])
release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[2])
blocks = []
is_over = threading.Event()
def launch():
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
def work():
    assert cuda.cuCtxSetCurrent(context) == 0
    while not is_over.wait(0.001):
        launch()
for line in sys.stdin:
    word, number = line.split()
    if word == "allocate":
        blocks.append(allocate(0, int(number)))
    elif word == "release":
        release(blocks.pop(int(number)))
    elif word == "outside":
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(number))) == 0
    elif word == "launch":
        for _ in range(int(number)):
            launch()
    elif word == "killed":  # at once after the span
        assert cuda.cuProfilerStop() == 0
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "profiler":
        assert (cuda.cuProfilerStart if number == "1" else cuda.cuProfilerStop)() == 0
    elif word == "work":
        worker = threading.Thread(target=work)
        worker.start()
    elif word == "again":  # as another program would
        print(word, number, flush=True)
        words = open("/proc/self/cmdline").read().split("\\0")[:-1]
        os.execv(sys.executable, words)
    elif word == "rest":
        is_over.set()
        worker.join()
    print(word, number, len(blocks), flush=True)
"""


def start(name, *options):
    return subprocess.Popen(
        [
            "gpuprof",
            "run",
            "-q",
            "--stacks=native",
            "-o",
            name,
            *options,
            "--",
            sys.executable,
            "-c",
            JOB,
        ],
        stdin=-1,
        stdout=-1,
        text=True,
    )


def say(job, *orders):
    for order in orders:
        job.stdin.write(order + "\n")
        job.stdin.flush()
        assert job.stdout.readline()


def pid_of(job):
    """The pid of the job itself, a child of gpuprof."""
    return open("/proc/%d/task/%d/children" % (job.pid, job.pid)).read().split()[0]


def ctl(job, word):
    """The recording level after the order."""
    answer = subprocess.run(["gpuprof", "ctl", "--json", pid_of(job), word], stdout=-1, text=True)
    return json.loads(answer.stdout)[0]["level"]


def end(job):
    return job.communicate()[0] == "" and job.returncode


def lines(name, *words):
    return subprocess.run(["gpuprof", *words, name], stdout=-1, text=True).stdout.splitlines()


def info(name):
    return json.loads("\n".join(lines(name, "info", "--json")))


def events(name, kind):
    return [json.loads(line) for line in lines(name, "dump", "--json", "--kind", kind)]


def spans(name):
    """The opening and closing of each span, its launches, and the launches outside of all."""
    captured = info(name)["captured"]
    at = [e["at_ns"] for e in events(name, "launch")]
    inside = [[t for t in at if s["from_ns"] <= t <= (s["to_ns"] or t)] for s in captured["kept"]]
    return captured, list(map(len, inside)), len(at) - sum(map(len, inside))


def print_spans(name):
    captured, inside, outside = spans(name)
    print(
        captured["rule"],
        "|",
        captured["spans"],
        [(s["opened_by"], s["closed_by"], n) for s, n in zip(captured["kept"], inside)],
        "outside:",
        outside,
    )


def state(job):
    """State of the first device as in a snapshot: its segments' blocks and other memory."""
    answer = subprocess.run(["gpuprof", "snapshot", "--json", pid_of(job)], stdout=-1, text=True)
    device = json.loads(answer.stdout)["devices"][0]
    base = min(int(s["address"], 16) for s in device["segments"])
    return (
        [
            (int(b["address"], 16) - base, b["bytes"], b["state"])
            for s in device["segments"]
            for b in s["blocks"]
        ],
        device["allocated_bytes"],
        device["reserved_bytes"],
    )


def rounded(size):
    return (size + 511) // 512 * 512


def late():
    """After a late start, older memory is reported as in a twin that captures all."""
    orders = [
        "allocate 1000",
        "allocate 3000000",
        "outside 9437184",
        "launch 5",
        "allocate 700000",
        "allocate 15000000",
        "release 1",
        "allocate 512",
        "release 0",
        "allocate 90000",
    ]
    jobs = [
        start("late.gpr", "--capture-range=ctl"),
        start("whole.gpr"),
        start("stacks.gpr", "-c", "ctl", "--outside-capture=stacks"),
    ]
    held = [700000, 15000000, 512, 90000]
    for job in jobs:
        say(job, *orders)
    states = [state(job) for job in jobs]
    print("one state" if states[0] == states[1] == states[2] else states)
    blocks = sorted(n for _, n, what in states[0][0] if what == "allocated")
    print("as held" if blocks == sorted(map(rounded, held)) else (blocks, held))
    print(ctl(jobs[0], "status"), ctl(jobs[0], "start"), ctl(jobs[0], "start"))
    for job in jobs:
        say(job, "allocate 40000000", "launch 7", "release 1")
    print("one state" if state(jobs[0]) == state(jobs[1]) else "OTHER")
    print(ctl(jobs[0], "stop"))
    for job in jobs:
        say(job, "launch 3", "release 0", "allocate 1024")
    print([end(job) for job in jobs])
    print_spans("late.gpr")
    figures = [info(name) for name in ("late.gpr", "whole.gpr")]
    print(
        [
            (f["self_check"]["mismatches"], f["self_check"]["anomalies"], f["events"]["launch"])
            for f in figures
        ],
        figures[1]["captured"],
    )
    names = ("late.gpr", "whole.gpr", "stacks.gpr")
    for name in names:
        stacked = ["stack" in e for e in events(name, "block_alloc")]
        print(
            name,
            "".join("s" if s else "-" for s in stacked),
            any("outside of what was captured" in line for line in lines(name, "peak")),
        )
    moments = [
        [line for line in lines(name, "timeline", "--json") if "_peak_bytes" in line]
        for name in names
    ]
    print("one peak" if moments[0] == moments[1] == moments[2] != [] else moments)


def profiler():
    """By the job's own calls, two spans where two were requested; `ctl` beside that."""
    job = start("api.gpr", "--capture-range=cudaProfilerApi", "--capture-range-end=outside:2")
    say(
        job,
        "allocate 512",
        "launch 2",
        "profiler 0",
        "profiler 1",
        "launch 3",
        "profiler 1",
        "launch 4",
        "profiler 0",
        "launch 5",
    )
    print(ctl(job, "start"))
    say(job, "launch 6", "profiler 1", "launch 7", "profiler 0", "launch 8")
    print(ctl(job, "stop"))
    say(job, "launch 9", "profiler 1", "launch 10", "profiler 0", "profiler 1", "launch 11")
    print(end(job))
    print_spans("api.gpr")
    job = start("open.gpr", "-c", "cudaProfilerApi", "--capture-range-end=none")
    say(job, "launch 1", "profiler 1", "launch 2", "profiler 0", "launch 4")
    print(end(job))
    print_spans("open.gpr")
    job = start("all.gpr")
    say(job, "launch 1", "profiler 1", "launch 2", "profiler 0", "launch 4")
    print(end(job), len(events("all.gpr", "launch")), info("all.gpr")["captured"])


def has_closed(name):
    captured = info(name)["captured"]
    return captured and any(span["closed_by"] for span in captured["kept"])


def clock():
    """The clock opens and closes; a busy thread's launches are captured only in between."""
    job = start("clock.gpr", "--delay=300ms", "--duration=0.2")
    say(job, "allocate 4096", "work 1")
    while not has_closed("clock.gpr"):
        assert job.poll() is None
    say(job, "rest 1", "allocate 4096")
    print(end(job))
    captured, inside, outside = spans("clock.gpr")
    kept = captured["kept"][0]
    print(
        captured["rule"],
        captured["spans"],
        kept["opened_by"],
        kept["closed_by"],
        "at least 0.2 s" if captured["ns"] >= 200000000 else captured,
        # a launch that ran at the end of the time may count as later
        "no launch elsewhere" if outside <= 1 else (inside, outside),
    )


def order(job, word):
    """Its answer, without the number, which changes."""
    pid = pid_of(job)
    answer = subprocess.run(
        ["gpuprof", "ctl", pid, word], stderr=subprocess.STDOUT, stdout=-1, text=True
    )
    print(answer.returncode, answer.stdout.replace(pid, "PID"), end="")


def await_end(job):
    """Waits for the end of its recording: its rings are gone then."""
    while glob.glob("gpuprof-ring-*"):
        assert job.poll() is None


def print_end(name):
    what = info(name)
    print(
        "%s: %s, ended by %s, %d blocks, %d lost; %s"
        % (
            name,
            "complete" if what["complete"] else "NOT COMPLETE",
            what["captured"]["ended_by"],
            what["events"]["block_alloc"],
            sum(what["lost"].values()),
            lines(name, "verify")[-1].split("; ", 1)[1],
        )
    )


def ended():
    """The recording ends complete with the last span, and the job continues without it."""
    job = start("stop.gpr", "-c", "cudaProfilerApi", "--capture-range-end=stop")
    say(job, "allocate 512", "launch 2", "profiler 1", "launch 3", "allocate 600", "profiler 0")
    await_end(job)
    order(job, "start")
    print(subprocess.run(["gpuprof", "snapshot", pid_of(job)], stderr=-1).returncode)
    before = open("stop.gpr", "rb").read()
    say(job, "allocate 4096", "release 0", "launch 5", "profiler 1", "launch 6", "profiler 0")
    print("as it was" if open("stop.gpr", "rb").read() == before else "CHANGED")
    os.kill(int(pid_of(job)), signal.SIGKILL)
    print(end(job))
    print_spans("stop.gpr")
    print_end("stop.gpr")
    print("\n".join(line for line in lines("stop.gpr", "info") if line.startswith("ended")))
    # another program in the same process begins its own
    job = start("again.gpr", "-c", "cudaProfilerApi", "--capture-range-end=repeat:2")
    for size in ("1000", "2000"):
        say(
            job,
            "profiler 1",
            "allocate " + size,
            "profiler 0",
            "launch 1",
            "profiler 1",
            "launch 2",
            "profiler 0",
        )
        await_end(job)
        say(job, *["again 1"][: size == "1000"])
    print(end(job))
    for name in sorted(glob.glob("again*")):
        print_end(name)
    # by the clock, while a thread launches without a pause
    job = start("clock.gpr", "--duration=0.2", "--capture-range-end=stop")
    say(job, "allocate 4096", "work 1")
    await_end(job)
    say(job, "rest 1", "allocate 4096")
    print(end(job))
    print_end("clock.gpr")
    # killed before the recorder could react
    job = start("killed.gpr", "-c", "cudaProfilerApi", "--capture-range-end=stop")
    say(job, "allocate 512", "profiler 1", "launch 3")
    job.stdin.write("killed 1\n")
    print(end(job))
    print_end("killed.gpr")
    # orders end spans, not the recording
    job = start("order.gpr", "-c", "cudaProfilerApi", "--capture-range-end=stop")
    say(job, "allocate 512", "profiler 1", "launch 3")
    print(ctl(job, "stop"), ctl(job, "start"), ctl(job, "stop"))
    say(job, "profiler 0", "profiler 1", "launch 7", "allocate 512")
    print(end(job))
    print_end("order.gpr")


def silent():
    """Checks the reason why a process does not record."""

    def say_of(pid, *words):
        answer = subprocess.run(["gpuprof", *words], stderr=subprocess.STDOUT, stdout=-1, text=True)
        print(
            answer.returncode,
            answer.stdout.replace(str(pid), "PID").replace(os.getcwd(), "HERE"),
            end="",
        )

    waiting = "import sys; print(1, flush=True); sys.stdin.read()"
    early = subprocess.Popen(
        ["gpuprof", "run", "-q", "--", sys.executable, "-c", waiting], stdin=-1, stdout=-1
    )
    early.stdout.readline()
    order(early, "start")
    early.communicate()
    while True:  # a number without rings of an ended process, which would be listed instead
        bare = subprocess.Popen([sys.executable, "-c", waiting], stdin=-1, stdout=-1)
        bare.stdout.readline()
        if not glob.glob(f"/dev/shm/gpuprof-ring-*-{bare.pid}-*"):
            break
        bare.communicate()
    say_of(bare.pid, "ctl", str(bare.pid), "stop")
    bare.communicate()
    say_of(bare.pid, "ctl", str(bare.pid))
    os.mkdir("rings")
    job = start("elsewhere.gpr", "--ring-dir=" + os.getcwd() + "/rings")
    say(job, "allocate 512")
    pid = pid_of(job)
    say_of(pid, "ctl", pid, "start")
    say_of(pid, "snapshot", pid)
    os.environ["GPUPROF_RING_DIR"] = os.getcwd() + "/rings"
    print(ctl(job, "stop"))
    process = os.pidfd_open(int(pid))
    job.kill()  # gpuprof cannot adopt what the job leaves
    os.kill(int(pid), signal.SIGKILL)
    select.select([process], [], [])  # all its threads have ended
    say_of(pid, "ctl", pid, "start")


BECOME = """
import ctypes, os, signal, sys, threading
ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libc10.so")  # what lies where only its owner may look
os.setresuid(65534, 65534, 65534)
assert ctypes.CDLL(None).prctl(4, 1, 0, 0, 0) == 0  # /proc/PID is the user's again
"""


def stranger():
    """Another user's process: its owner is named, and the place of its rings if any."""
    if os.geteuid() != 0:  # no other user's job: root's always exists
        owner = pwd.getpwuid(os.stat("/proc/1").st_uid).pw_name  # `nobody` in a user namespace
        for word in ("ctl", "snapshot", "watch"):
            answer = subprocess.run(["gpuprof", word, "1"], stderr=-1, text=True).stderr
            print("named" if "it is user '%s's" % owner in answer else answer)
        print(1, True)  # no file of another user's job
        return
    place = tempfile.mkdtemp()
    os.chmod(place, 0o777)
    os.environ["GPUPROF_RING_DIR"] = place
    job = subprocess.Popen(
        [sys.executable, "-c", BECOME + JOB],
        stdin=-1,
        stdout=-1,
        text=True,
        env={
            **os.environ,
            "LD_PRELOAD": os.environ["PRELOAD"],
            "GPUPROF_OUTPUT": place + "/job.gpr",
        },
    )
    say(job, "allocate 512")
    user = pwd.getpwuid(65534).pw_name
    for word in ("ctl", "snapshot", "watch"):
        answer = subprocess.run(["gpuprof", word, str(job.pid)], stderr=-1, text=True).stderr
        is_named = (
            "it is user '%s's" % user in answer
            and place + "/gpuprof-ring-65534-" in answer
            and "'sudo -u %s gpuprof %s %d'" % (user, word, job.pid) in answer
        )
        print("named" if is_named else answer)
    words = ["gpuprof", "watch", place + "/job.gpr"]
    answer = subprocess.run(words, stderr=-1, text=True)
    print(answer.returncode, "belongs to another user" in answer.stderr or answer.stderr)
    headline = lines(place + "/job.gpr", "info")[0]
    if not headline.startswith(
        "NOT COMPLETE: its end is missing, it is another user's and may be " "running; "
    ):
        print(headline)
    job.communicate()
    shutil.rmtree(place)


globals()[sys.argv[1]]()
