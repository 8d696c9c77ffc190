"""Drives `gpuprof run` where a shell cannot: signals, a terminal, a kill. drive_run.py WHAT"""
import glob
import os
import pty
import signal
import subprocess
import sys

ALLOCATE = """
import ctypes, os, signal, sys
signal.alarm(200)  # whatever becomes of the test
cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(address), 0, 0) == 0
def allocate():
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
allocate()
"""
CAUGHT = (
    ALLOCATE
    + """
def caught(number, frame):
    # no print: the signal may come while one is under way
    os.write(1, b"job: %s\\n" % signal.Signals(number).name.encode())
    if number == signal.SIGTERM:
        sys.exit(7)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, caught)
heard, hears = os.pipe()
os.set_blocking(hears, False)
signal.set_wakeup_fd(hears)  # a signal just before a pause() would not end it
print("job: ready", flush=True)
while True:
    os.read(heard, 1)
"""
)
SURVIVES = (
    ALLOCATE
    + """
print("job: ready", flush=True)
sys.stdin.readline()
allocate()
print("job: goes on", flush=True)
"""
)


def run(job, *options, **more):
    words = ["gpuprof", "run", "-q", *options, "--", sys.executable, "-c", job]
    return subprocess.Popen(words, text=True, **more)


def status(of):
    return "killed by " + signal.Signals(-of).name if of < 0 else "exit %d" % of


def signals():
    """A signal to run alone reaches the job once."""
    process = run(CAUGHT, "-o", "s.gpr", stdout=subprocess.PIPE)
    print(process.stdout.readline(), end="")
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2, signal.SIGTERM):
        process.send_signal(number)
        print(process.stdout.readline(), end="")
    print(process.stdout.read() or "no more", status(process.wait()))


def terminal():
    """The terminal sends Ctrl-C to the whole group: the job must get it once, not twice."""
    pid, end = pty.fork()
    if pid == 0:
        os.execvp(
            "gpuprof", ["gpuprof", "run", "-q", "-o", "t.gpr", "--", sys.executable, "-c", CAUGHT]
        )
    with os.fdopen(end, "r+b", buffering=0) as tty:

        def hear(word):
            text = b""
            while word not in text:
                text += tty.read(1)
            return text

        hear(b"job: ready")
        tty.write(b"\x03")
        text = hear(b"SIGINT")
        os.kill(pid, signal.SIGUSR1)
        text += hear(b"SIGUSR1")
        os.kill(pid, signal.SIGTERM)
        text += hear(b"SIGTERM")
        print(text.count(b"SIGINT"), text.count(b"SIGUSR1"), text.count(b"SIGTERM"))
        # while the terminal is there: its end would be another signal
        print(status(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def code_frees():
    """run ends by the signal that ended the job."""
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGINT):
        job = (
            "import os, resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), %d)"
            % number
        )
        before = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        print(status(run(before + job).wait()))


def killed():
    """The job of a killed run continues and is recorded; the next run removes the list."""
    os.mkdir("lists")
    os.environ["TMPDIR"] = os.path.abspath("lists")
    process = run(SURVIVES, "-o", "k.gpr", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    print(process.stdout.readline(), end="")
    other = run(SURVIVES, "-o", "other.gpr", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    print("other", other.stdout.readline(), end="")
    process.kill()
    process.wait()
    print(len(glob.glob("lists/*")), "lists")
    subprocess.run(["gpuprof", "run", "-q", "true"], check=True)
    print(len(glob.glob("lists/*")), "list, of the run that lives")
    process.stdin.write("\n")
    process.stdin.close()
    print(process.stdout.read(), end="")  # reads to the end: the job has ended
    print("other", other.communicate("\n")[0], end="")
    print(len(glob.glob("lists/*")), "lists")


def naming():
    """A signal during the look-up of names ends only the look-up."""
    os.mkfifo("stuck")
    build = os.environ["BUILD"]
    os.environ.update(HURRY_STUCK="stuck", LD_PRELOAD=build + "/fake/hurry.so")
    job = ["sh", "-c", build + "/victims/leak_two >/dev/null; exit 3"]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        name = number.name + ".gpr"
        words = ["gpuprof", "run", "--stacks", "native", "-o", name, "--", *job]
        process = subprocess.Popen(words, text=True, stderr=subprocess.PIPE)
        open("stuck").close()  # waits until a library is read
        process.send_signal(number)
        print(process.stderr.read().splitlines()[-1], status(process.wait()))


def twice():
    """One signal after the job's end, as from `timeout`, keeps the summary; two lose it."""
    os.environ["LD_PRELOAD"] = os.environ["BUILD"] + "/fake/hurry.so"
    killed = ALLOCATE + "os.kill(os.getpid(), signal.SIGKILL)"
    names = {number.value: number.name for number in signal.Signals}
    for late in ((15,), (2,), (1,), (10,), (12,), (15, 2, 1), (15, 15), (2, 2), (3,)):
        words = ["gpuprof", "run", "-o", "t.gpr", "--force", "--", sys.executable, "-c", killed]
        environment = dict(os.environ, HURRY_SIGNALS=",".join(map(str, late)))
        run = subprocess.run(words, text=True, stderr=subprocess.PIPE, env=environment)
        summary = "summary" if "recorded 1 event in" in run.stderr else run.stderr or "no summary"
        print(*(names[number] for number in late), "-", summary, status(run.returncode))


{what.__name__: what for what in (signals, terminal, code_frees, killed, naming, twice)}[
    sys.argv[1]
]()
