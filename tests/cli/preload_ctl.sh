cat >job.py <<'END'
import ctypes, json, os, subprocess

cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_void_p()
print(
    cuda.cuInit(0),
    cuda.cuCtxCreate_v2(ctypes.byref(address), 0, 0),
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)),
)


def ctl(word):
    command = ["gpuprof", "ctl", "--json", str(os.getpid()), word]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)[0]


answers = [(word, ctl(word)) for word in ("status", "stop", "start")]
print([(word, a["alive"], a["level"], a["requested_level"]) for word, a in answers])
END
export LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD
gpuprof run -q -o r.gpr -- python3 job.py
