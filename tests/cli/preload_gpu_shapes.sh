# more launch shapes than the recorder has room for: kernels keep their names
export LD_LIBRARY_PATH=$BUILD/fake
cat >job.py <<'END'
import os, runpy, sys

sys.argv = ["gpu_job.py", "await"]
job = runpy.run_path(os.environ["CLI"] + "/gpu_job.py")
for grid in range(2, 18000):
    job["launch"](job["scale"], grid)
    if grid % 500 == 0:
        job["cuda"].cuCtxSynchronize()
END
CLI=$CLI gpuprof run -q --gpu-time -o r.gpr -- python3 -B job.py
gpuprof kernels --json r.gpr | python3 -c 'import json, sys
for row in json.load(sys.stdin)["kernels"]:
    print(row["name"], row["count"] > 16384, row["grid"], row["block"], row["registers"])'
gpuprof dump --kind gpu_function r.gpr | grep -c "grid=0x0x0"
