"""A recorded job that allocates and frees by orders, for drive_*.py."""
import subprocess

JOB = """
import ctypes, signal, sys, threading
signal.alarm(200)  # whatever becomes of the test
cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(address), 0, 0) == 0
table = (ctypes.c_void_p * 11).in_dll(ctypes.CDLL("libc10.so"), "fake_c10")
allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)(table[1])
release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[2])
blocks = []
is_over = threading.Event()
def work():
    while not is_over.wait(0.002):
        held = [allocate(0, 1000 * k) for k in range(1, 50)]
        for block in held:
            release(block)
for line in sys.stdin:
    word, number = line.split()
    if word == "allocate":
        blocks.append(allocate(0, int(number)))
    elif word == "release":
        release(blocks.pop(int(number)))
    elif word == "outside":
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(number))) == 0
    elif word == "pin":
        size = ctypes.c_size_t(int(number))
        assert cuda.cuMemHostAlloc(ctypes.byref(address), size, 0) == 0
    elif word == "unpin":
        assert cuda.cuMemFreeHost(address) == 0
    elif word == "work":
        worker = threading.Thread(target=work)
        worker.start()
    elif word == "rest":
        is_over.set()
        worker.join()
    print(word, number, len(blocks), flush=True)
"""


def start(words, record=True, **more):
    command = ["gpuprof", "run", "-q", "-o", "job.gpr", "--"] if record else []
    return subprocess.Popen([*command, *words], stdin=-1, stdout=-1, text=True, **more)


def say(job, order):
    job.stdin.write(order + "\n")
    job.stdin.flush()
    return job.stdout.readline()


def pid_of(job):
    """The pid of the job itself, a child of gpuprof."""
    children = open("/proc/%d/task/%d/children" % (job.pid, job.pid)).read().split()
    return children[0]
