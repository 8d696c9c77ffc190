# the memory that arguments of kernels point to, with --track-access alone
export LD_LIBRARY_PATH=$BUILD/fake
cat >job.py <<'END'
import ctypes, os, runpy, sys

sys.argv = ["gpu_job.py", "await"]
job = runpy.run_path(os.environ["CLI"] + "/gpu_job.py")
cuda, made, size = job["cuda"], job["made"], job["size"]
first, second = (made(cuda.cuMemAlloc_v2, size(mib << 20)).value for mib in (2, 6))
words = [ctypes.c_uint64(word) for word in (first, second + 4096, first + 8, 1)]
parameters = (ctypes.c_void_p * 4)(*map(ctypes.addressof, words))
function = made(cuda.cuModuleGetFunction, job["module"], b"multiply_rows")
for step in range(20):
    assert cuda.cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, None, parameters, None) == 0
    cuda.cuCtxSynchronize()
END
for option in --track-access ""; do
	CLI=$CLI gpuprof run -q --gpu-time $option -o r$option.gpr -- python3 -B job.py
	gpuprof kernels --json r$option.gpr | python3 -c 'import json, sys
for row in sorted(json.load(sys.stdin)["kernels"], key=lambda row: row["name"]):
    print(row["name"], row["argument_bytes"])'
	COLUMNS=120 gpuprof kernels r$option.gpr | grep -o "arguments.*" || echo "no column"
done
