"""Drives `gpuprof watch` beside jobs whose memory is known. drive_watch.py WHAT"""
import fcntl
import json
import os
import pwd
import re
import select
import signal
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True  # beside the tests
from known_job import JOB, pid_of, say, start  # noqa: E402

FAST = ("--interval", "0.1")


def job_of(*orders):
    job = start([sys.executable, "-c", JOB])
    for order in orders:
        say(job, order)
    return job


def job_in(directory, *orders):
    os.makedirs(directory)
    before = os.getcwd()
    os.chdir(directory)
    job = job_of(*orders)
    os.chdir(before)
    return job


def ended(job):
    return job.communicate()[0] == "" and job.returncode


class Lines:
    """Lines of `watch --json`, each an object."""

    def __init__(self, pid, *options):
        self.process = subprocess.Popen(
            ["gpuprof", "watch", "--json", *FAST, *options, str(pid)], stdout=-1, text=True
        )

    def until(self, is_it):
        """Lags behind the job for a moment; None: it ended before."""
        for line in self.process.stdout:
            state = json.loads(line)
            if is_it(state):
                return state


def allocated(state):
    return state["devices"][0]["allocated"]["now_bytes"] if state["devices"] else 0


def follows():
    """Each order of the job arrives, growth counts from the first line, and the end is seen."""
    job = job_of("allocate 1000000")
    watch = Lines(pid_of(job), "--by", "kind", "--top", "0")
    print(allocated(watch.until(lambda s: allocated(s) == 1000448)))
    for order, bytes in (("allocate 3000000", 4000768), ("release 0", 3000320), ("work 1", None)):
        say(job, order)
        if bytes:
            state = watch.until(lambda s: allocated(s) == bytes)
            group = state["devices"][0]["groups"][0]
            keys = ("key", "bytes", "count", "growth_bytes", "growth_count")
            print(order, allocated(state), *[group[key] for key in keys])
    state = watch.until(lambda s: (s["events_per_second"] or 0) > 1000)
    print(state["lost"], state["gaps"], state["running"], state["steps_per_second"])
    say(job, "rest 1")
    status = ended(job)
    state = watch.until(lambda s: not s["running"])
    info = subprocess.run(["gpuprof", "info", "job.gpr"], stdout=-1, text=True).stdout
    events = int(re.search("([0-9,]+) events", info)[1].replace(",", ""))
    print(status, watch.process.wait(), allocated(state), events - state["events"])


def lines():
    """A line that allocates after the beginning is named: its stack is defined later."""
    job = start([sys.executable, "-c", JOB], env={**os.environ, "GPUPROF_STACKS": "python"})
    say(job, "allocate 1000000")
    watch = Lines(pid_of(job), "--by", "line")
    groups = lambda s: {g["key"] for d in s["devices"] for g in d["groups"]}  # noqa: E731
    print(*groups(watch.until(lambda s: allocated(s) == 1000448)))
    say(job, "work 1")
    print(*sorted(groups(watch.until(lambda s: len(groups(s)) > 1))))
    say(job, "rest 1")
    print(ended(job), watch.until(lambda s: not s["running"]) is not None)


def roles():
    """Roles come from a child process, so they have a moment of their own."""
    job = job_of("allocate 1000000")
    watch = Lines(pid_of(job), "--by", "role")
    watch.until(lambda s: allocated(s) == 1000448)
    state = watch.until(lambda s: s["devices"][0]["groups"])
    device = state["devices"][0]
    print(type(device["groups_at_ns"]))
    print(*[(g["key"], g["bytes"], g["count"]) for g in device["groups"]])
    watch.process.send_signal(signal.SIGINT)
    print(watch.process.wait(), ended(job))


def pinned():
    """Pinned memory of the host: null at first, then now and at its peak, also as text."""
    job = job_of("allocate 1000000")
    watch = Lines(pid_of(job))
    print(watch.until(lambda s: allocated(s) == 1000448)["host"])
    for order, bytes in ("pin 1048576", 2**20), ("unpin 0", 0):
        say(job, order)
        now = lambda s: s["host"] and s["host"]["pinned"]["now_bytes"]  # noqa: E731
        host = watch.until(lambda s: now(s) == bytes)["host"]
        print(order, *[host[key][of] for key in host for of in ("now_bytes", "peak_bytes")])
        print(host["pinned"]["peak_at_ns"] > 0)
    words = ["gpuprof", "watch", "--count", "1", pid_of(job)]
    answer = subprocess.run(words, stdout=-1, text=True)
    print(*[line for line in answer.stdout.splitlines() if line.startswith("host")])
    print(ended(job))


def named():
    """A path with an escape sequence, a blank and a quote: masked, and quoted for a shell."""
    job = job_in("e\033[31mvil 'q", "allocate 1000000")
    Lines(pid_of(job)).until(lambda s: allocated(s) == 1000448)
    words = ["gpuprof", "watch", "--by", "role", "--count", "1", pid_of(job)]
    answer = subprocess.run(words, stdout=-1, text=True)
    print(*[line for line in answer.stdout.splitlines() if line.startswith("reading")])
    print(ended(job))


def killed():
    """The last line has the events in the rings of a killed job, and the exit status is 0."""
    job = job_of("allocate 1000000")
    pid = int(pid_of(job))
    watch = Lines(pid)
    watch.until(lambda s: allocated(s) == 1000448)
    say(job, "allocate 5000000")
    os.kill(job.pid, signal.SIGKILL)  # gpuprof would adopt them
    os.kill(pid, signal.SIGKILL)
    job.wait()
    print(allocated(watch.until(lambda s: not s["running"])), watch.process.wait())


def plain():
    """Without a terminal: a block for each interval, and the end."""
    job = job_of("allocate 1000000")
    pid = pid_of(job)
    Lines(pid).until(lambda s: allocated(s) == 1000448)
    words = ["gpuprof", "watch", *FAST, "--count", "2", "--top", "1", "--by", "kind"]
    for word in pid, str(job.pid), "job.gpr":
        answer = subprocess.run([*words, word], stdout=-1, stderr=-1, text=True)
        text = (answer.stderr + answer.stdout).replace(pid, "JOB").replace(str(job.pid), "RUN")
        text = re.sub(r"[0-9.]+ [nmu]?s(?= ago|, )|[0-9,]+ events\b", "N", text)
        print(answer.returncode, re.sub(r"JOB .*", "JOB COMMAND", text), sep="\n")
    ended(job)
    answer = subprocess.run([*words, "job.gpr"], stdout=-1, text=True)
    text = answer.stdout.replace(pid, "JOB")
    print(answer.returncode, *text.splitlines()[-2:], sep="\n")


def refused():
    """Processes that cannot be watched."""
    stranger = "1"
    if os.geteuid() == 0:
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            signal.pause()
        while os.stat(f"/proc/{child}").st_uid != 65534:
            pass
        stranger = str(child)
    user = pwd.getpwuid(os.stat(f"/proc/{stranger}").st_uid).pw_name
    ours, none = str(os.getpid()), str(2**22 + 1)
    for words in [ours], [none], [stranger], ["none.gpr"], ["-"], ["1", "2"]:
        answer = subprocess.run(["gpuprof", "watch", *words], stderr=-1, text=True)
        text = answer.stderr.splitlines()[0]
        text = re.sub(r"'[0-9]+'", "'PID'", text).replace(f"'{user}'", "USER")
        print(answer.returncode, text)
    if stranger != "1":
        os.kill(int(stranger), signal.SIGKILL)
        os.waitpid(int(stranger), 0)


def alone():
    """Without a word: the only job, or a list. Run it with a /dev/shm of its own."""
    for jobs in range(3):
        started = [job_in(f"{jobs}/{k}", "allocate 1000000") for k in range(jobs)]
        pids = {pid_of(job): f"JOB{k}" for k, job in enumerate(started)}
        answer = subprocess.run(
            ["gpuprof", "watch", "--json", "--count", "1"], stdout=-1, stderr=-1, text=True
        )
        pid = str(json.loads(answer.stdout)["pid"]) if answer.stdout else None
        text = re.sub("watch [0-9]+: '.*/([0-9])/", r"watch PID: '\1/", answer.stderr)
        print(answer.returncode, pids.get(pid), *sorted(text.splitlines()), sep="\n")
        for job in started:
            job.communicate()


class Screen:
    """`watch` on a terminal of its own."""

    def __init__(self, pid, columns, rows, *options):
        self.master, slave = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.environ.update(TERM="xterm")
            os.execvp("gpuprof", ["gpuprof", "watch", *FAST, *options, str(pid)])
        self.slave = slave
        self.text = ""

    def resize(self, columns, rows):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def send(self, keys):
        os.write(self.master, keys.encode())

    def frame(self, is_it):
        """The first whole frame, as lines, for which is_it holds."""
        while True:
            while "\033[J" in self.text:
                frame, self.text = self.text.split("\033[J", 1)
                frame = re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", frame.split("\033[H")[-1])
                lines = [line.rstrip("\r") for line in frame.split("\r\n")]
                if is_it(lines):
                    return lines
            self.text += os.read(self.master, 65536).decode()

    def has(self, word):
        return self.frame(lambda lines: any(word in line for line in lines))

    def end(self):
        """Reads to its end: the exit status, and whether the terminal is as it was."""
        child = os.pidfd_open(self.pid)
        while child not in (ready := select.select([self.master, child], [], [])[0]) or (
            self.master in ready
        ):
            self.text += os.read(self.master, 65536).decode()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        is_back = termios.tcgetattr(self.slave) == self.before
        return status, is_back, "\033[?1049l" in self.text


def keys():
    """Each key changes the screen."""
    job = job_of("allocate 1000000")
    screen = Screen(pid_of(job), 100, 30)
    screen.has("977 KiB")
    for key, word in (
        ("\t", "by module"),
        ("b", "by operator"),
        ("\033[Z", "by module"),
        ("\033[A", "by module"),
        ("s", "sort: growth"),
        ("s", "sort: count"),
        ("d", "on GPU 0"),
        ("p", "(paused)"),
        ("?", "next grouping"),
        ("?", "bytes"),
        ("p", "events/s"),
    ):
        screen.send(key)
        screen.has(word)
    screen.send("m")
    screen.has("977 KiB         0 B")
    say(job, "allocate 3000000")
    screen.has("3.82 MiB   +2.86 MiB")
    screen.send("m")
    screen.has("3.82 MiB         0 B")
    screen.send("S")
    screen.has("wrote gpuprof-snapshot-")
    (file,) = [f for f in os.listdir() if f.startswith("gpuprof-snapshot-")]
    print("GPU 0" in open(file).read())
    screen.send("r")
    screen.has("wrote gpuprof-report-")
    (file,) = [f for f in os.listdir() if f.startswith("gpuprof-report-")]
    print(open(file).read(15))
    screen.send("q")
    print(*screen.end())
    os.mkdir("gone")
    os.chdir("gone")
    screen = Screen(pid_of(job), 100, 30)
    screen.has("3.82 MiB")
    os.rmdir(os.getcwd())
    screen.send("r")
    screen.has("no report: 'gpuprof report ")
    screen.send("q")
    print(*screen.end())
    ended(job)


def sizes():
    """No line is wider than the terminal, and no frame is higher, also after a resize."""
    job = job_of("allocate 1000000")
    screen = Screen(pid_of(job), 20, 12)
    for columns, rows in ((20, 12), (160, 40), (40, 5), (1, 1), (80, 24)):
        screen.resize(columns, rows)
        lines = screen.frame(lambda lines: len(lines) == rows)
        print(columns, rows, max(map(len, lines)) <= columns)
    screen.resize(20, 12)
    print(len(screen.frame(lambda lines: "allocated    977 KiB" in lines)))
    screen.resize(80, 24)
    for number in signal.SIGTSTP, signal.SIGCONT:
        os.kill(screen.pid, number)
        if number == signal.SIGTSTP:
            print(os.WIFSTOPPED(os.waitpid(screen.pid, os.WUNTRACED)[1]))
            is_back = termios.tcgetattr(screen.slave) == screen.before
            print("the terminal is as before:", is_back)
            screen.text = ""
    screen.has("977 KiB")
    ended(job)
    status = screen.end()
    print(*status, "ended\r\nnext: gpuprof timeline" in screen.text)


def interrupted():
    """A signal that ends programs ends it, and restores the terminal."""
    job = job_of("allocate 1000000")
    for number in signal.SIGINT, signal.SIGTERM:
        screen = Screen(pid_of(job), 80, 24)
        screen.has("977 KiB")
        os.kill(screen.pid, number)
        print(number.name, *screen.end())
    print(ended(job))


globals()[sys.argv[1]]()
