"""Runs the commands of documents from top to bottom, twice, in one new directory:
readme_twice.py BUILD DIRECTORY README [DOCUMENT...]

It reads indented lines (`gpuprof ...`, `$ gpuprof ...`), code in tables and the session. Lines below an indented
`$ gpuprof ...` are its output and must equal it; a line `...` stands for any number of lines. Other scripts test the
rest: lint/readme_session.sh the session, tests/check_fresh.sh `make deps`. Jobs run on the fake driver. A command may
end with another status than 0 only where STATUS allows it.
"""
import os
import re
import shutil
import subprocess
import sys

# a difference, a limit that is exceeded or cannot be judged
STATUS = {"diff": (0, 1), "check": (0, 1, 3)}

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


def commands(page):
    """Each command of a page and the output below it, None where the page shows no output."""
    found = []
    below = False
    for line in open(page, encoding="utf-8").read().split("\n"):
        command = re.match(r"(?:    |(?=\$))(\$ )?(gpuprof .*)", line)
        if command:
            below = bool(command[1]) and line.startswith(" ")
            found.append((re.sub(r"\s+# .*", "", command[2]).strip(), [] if below else None))
        elif below and line.startswith("    "):
            found[-1][1].append(line[4:])
        elif line:
            below = False
            if line.startswith("|"):
                found += [(code, None) for code in re.findall(r"`(gpuprof .*?)`", line)]
    return found


def is_like(shown, printed):
    """Compares lines of a page with those of the program; "..." is any number of lines."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed if line))


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
    os.environ.update(LD_LIBRARY_PATH=build + "/fake", PATH=build + ":" + os.environ["PATH"], LC_ALL="C.UTF-8",
                      PYTHONDONTWRITEBYTECODE="1", GPUPROF_RING_DIR=directory)
    for name in ("before", "after", "serve"):
        subprocess.run(["gpuprof", "run", "-q", "-o", name + ".gpr", "python3", "train.py"], check=True)
    subprocess.run("gpuprof check --baseline memory.json --update before.gpr", shell=True, check=True,
                   stdout=subprocess.DEVNULL)


def run_all(examples, pid):
    for line, shown in examples:
        command = line.replace("snapshot PID", f"snapshot {pid}")
        # a reader ends it with q
        command = command.replace("gpuprof watch", f"gpuprof watch --count 1 {pid}")
        done = subprocess.run(command, shell=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        if done.returncode not in STATUS.get(line.split()[1], (0,)):
            yield f"ended with {done.returncode}: {line}\n{done.stdout[-600:]}"
        elif shown and not is_like(shown, done.stdout.split("\n")):
            yield f"prints other lines than the page shows: {line}\n{done.stdout}"


def main():
    build, directory, readme, *others = (os.path.abspath(path) for path in sys.argv[1:])
    examples = [example for page in (readme, *others) for example in commands(page)]
    prepare(directory, build, os.path.dirname(readme))
    job = subprocess.Popen(["gpuprof", "run", "-q", "-o", "running.gpr", "python3", "train.py", "stay"],
                           text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(job.stdout.readline())
    faults = []
    for time in ("first", "second"):
        faults += [f"the {time} time, {fault}" for fault in run_all(examples, pid)]
    job.communicate("")
    faults += [f"a second name: {name}" for name in os.listdir(".") if re.search(r"\.\d+\.gpr$", name)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(examples)} commands, twice, {len(faults)} faults")
    return bool(faults) or not examples


if __name__ == "__main__":
    sys.exit(main())
