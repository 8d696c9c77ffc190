"""A Python job on the fake driver for debuggers and profilers.

traced_job.py attend    prints "ready PID", works until stdin ends, and works on
traced_job.py later     faulthandler.dump_traceback_later fires while it allocates
traced_job.py signal    a signal makes faulthandler print where it is
traced_job.py segv      reads address 0: faulthandler prints the traceback, the job dies
"""
import ctypes
import faulthandler
import os
import select
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from fake_blocks import blocks  # noqa: E402


made = 0


def work():
    global made
    blocks.release(blocks.allocate(0, 4096))
    made += 1


def claim():
    """Claims for the recording of this process: see tests/storm/expect.c."""
    with open(os.environ["VICTIM_CLAIMS"], "a") as claims:
        claims.write(f"{os.getpid()} = block_alloc {made}\n{os.getpid()} = block_free {made}\n")


def attend():
    work()
    print("ready", os.getpid(), flush=True)
    while not select.select([0], [], [], 0)[0]:
        work()
    for _ in range(1000):
        work()
    print("worked on to the end")


def later():
    with tempfile.TemporaryFile() as log:
        faulthandler.dump_traceback_later(0.05, file=log)
        # one line, so that every traceback shows it, until all is written
        while b"<module>" not in os.pread(log.fileno(), 4096, 0): work()  # noqa: E701
        faulthandler.cancel_dump_traceback_later()
        log.seek(0)
        # the innermost frame depends on the moment
        print(*[line for line in log.read().decode().splitlines() if " in work" not in line], sep="\n")


def by_signal():
    faulthandler.register(signal.SIGUSR1)
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    work()


def segv():
    work()
    claim()
    ctypes.string_at(0)


faulthandler.enable()
{"attend": attend, "later": later, "signal": by_signal, "segv": segv}[sys.argv[1]]()
claim()
