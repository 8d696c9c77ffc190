export LD_LIBRARY_PATH=$BUILD/fake
cat >forks.py <<'END'
import os, runpy, sys

sys.argv = ["gpu_job.py", "await"]
child = os.fork()
if child == 0:
    runpy.run_path(os.environ["CLI"] + "/gpu_job.py")
    sys.exit()
os.waitpid(child, 0)
END
# only the child uses the GPU, as the workers of a launcher do
CLI=$CLI gpuprof run -q --gpu-time -o f-%p.gpr -- python3 -B forks.py
ls f-*.gpr | wc -l
gpuprof kernels --json f-*.gpr | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["total_count"], r["join"]["joined"], r["no_gpu_time"])'
