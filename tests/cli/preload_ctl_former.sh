cat >job.py <<'END'
import ctypes, glob, json, os, shutil, subprocess

cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_void_p()
print(
    cuda.cuInit(0),
    cuda.cuCtxCreate_v2(ctypes.byref(address), 0, 0),
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)),
)
# the ring of a former process with the same process id
[ring] = glob.glob(f"gpuprof-ring-*-{os.getpid()}-*")
former = shutil.copy(ring, ring.rpartition("-")[0] + "-0")
command = ["gpuprof", "ctl", "--json", str(os.getpid()), "stop"]
answers = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
os.remove(former)
print([(a["alive"], a["level"]) for a in answers if a["ring"].startswith(os.getcwd())])
END
export LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD
gpuprof run -q -o r.gpr -- python3 job.py
