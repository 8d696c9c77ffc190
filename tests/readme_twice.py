"""Runs the commands of README.md from top to bottom, twice, in one new directory: readme_twice.py README BUILD DIRECTORY

The jobs run on the fake driver. `make deps` and the session with its own program are left out: tests/check_fresh.sh
and lint/readme_session.sh run them. A command of the page may end with another status than 0 only where STATUS says so.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

# a difference, a limit that is exceeded or cannot be judged
STATUS = {"diff": (0, 1), "check": (0, 1, 3)}
# the job here takes less than a second
SHORTER = {"12.5s": "12ms", "--from 10s": "--from 1ms", "--to 60s": "--to 6ms", "--delay 60": "--delay 1ms"}

JOB = '''
import ctypes, os, sys
from fake_blocks import blocks, cuda
context, module, kernel, address = (ctypes.c_void_p() for _ in range(4))
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuModuleLoadData(ctypes.byref(module), b"image") == 0
assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"kernel") == 0
for step in range(150):
    activation = blocks.allocate(0, 65536)
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
    blocks.release(activation)
for size in 1 << 50, 1 << 51, 1 << 52:
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0
if len(sys.argv) > 1:
    print(os.getpid(), flush=True)
    sys.stdin.read()
'''


def commands(readme):
    """Those of indented blocks; comments behind them are cut off."""
    for line in open(readme, encoding="utf-8"):
        found = re.match(r"    (?:\$ )?(build/gpuprof .*)", line)
        if found:
            yield re.sub(r"\s+#.*", "", found[1]).strip()


def prepare(directory, build, source):
    """The directory of a reader who built gpuprof there and has a job, and recordings of it."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.join(directory, "tests"))
    os.symlink(build, os.path.join(directory, "build"))
    os.symlink(os.path.join(source, "tests/data"), os.path.join(directory, "tests/data"))
    shutil.copy(os.path.join(source, "tests/cli/fake_blocks.py"), directory)
    with open(os.path.join(directory, "train.py"), "w", encoding="utf-8") as file:
        file.write(JOB)
    os.chdir(directory)
    os.environ.update(LD_LIBRARY_PATH=build + "/fake", PYTHONDONTWRITEBYTECODE="1", GPUPROF_RING_DIR=directory)
    for name in ("before", "after", "serve"):
        subprocess.run(["build/gpuprof", "run", "-q", "-o", name + ".gpr", "python3", "train.py"], check=True)
    subprocess.run("build/gpuprof check --baseline memory.json --update before.gpr", shell=True, check=True,
                   stdout=subprocess.DEVNULL)


def run_all(lines, pid):
    for line in lines:
        command = re.sub(r"\bpython\b", "python3", line).replace("snapshot PID", f"snapshot {pid}")
        for long, short in SHORTER.items():
            command = command.replace(long, short)
        done = subprocess.run(shlex.split(command), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        if done.returncode not in STATUS.get(line.split()[1], (0,)):
            yield f"ended with {done.returncode}: {line}\n{done.stdout[-600:]}"


def main():
    readme, build, directory = (os.path.abspath(path) for path in sys.argv[1:])
    lines = list(commands(readme))
    prepare(directory, build, os.path.dirname(readme))
    job = subprocess.Popen(["build/gpuprof", "run", "-q", "-o", "running.gpr", "python3", "train.py", "stay"],
                           text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(job.stdout.readline())
    faults = []
    for time in ("first", "second"):
        faults += [f"the {time} time, {fault}" for fault in run_all(lines, pid)]
    job.communicate("")
    faults += [f"a second name: {name}" for name in os.listdir(".") if re.search(r"\.\d+\.gpr$", name)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(lines)} commands, twice, {len(faults)} faults")
    return bool(faults) or not lines


if __name__ == "__main__":
    sys.exit(main())
