export LD_LIBRARY_PATH=$BUILD/fake
cat >show.py <<'END'
import json, sys

report = json.load(sys.stdin)
for row in report["kernels"]:
    print(row["name"], row["count"], row["total_ns"], row["joined"])
print("kernels:", report["total_count"], report["total_ns"], "ns")
END
gpuprof run -q --gpu-time --stacks python -o r.gpr -- python3 -B $CLI/gpu_job.py await
gpuprof kernels --json r.gpr | python3 show.py
gpuprof kernels r.gpr | grep -c "may belong\|without"
gpuprof waits --json r.gpr | python3 -c 'import json, sys
r = json.load(sys.stdin)
print("exact:", r["has_gpu_time"], "lost:", r["lost_operations"])
rows, lost = r["waits"], r["lost_ns"]
print("adds up:", r["idle_ns"] == lost + r["pending_ns"], lost == sum(w["lost_ns"] for w in rows))
print("item:", [w["line"] for w in rows if w["kind"] == "item"])'
gpuprof dump r.gpr | grep -c " gpu_kernel "
# another tool holds CUPTI
FAKE_CUPTI_HELD=1 gpuprof run -q --gpu-time -o h.gpr -- python3 -B $CLI/gpu_job.py await
gpuprof kernels h.gpr | sed 1q
# the second library is missing
gpuprof run -q -o m.gpr -- env GPUPROF_GPU_TIME=always python3 -B $CLI/gpu_job.py
gpuprof kernels m.gpr | sed 1q
gpuprof run -q -o n.gpr -- python3 -B $CLI/gpu_job.py
gpuprof kernels n.gpr | sed 1q
