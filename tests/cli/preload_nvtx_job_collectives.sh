# from NCCL's payloads and the fake CUPTI, each kernel 2 us, to bytes and rates
export LD_LIBRARY_PATH=$BUILD/fake FAKE_CUPTI_NS=2000
cat >show.py <<'END'
import json, sys

report = json.load(sys.stdin)
for row in sorted(report["collectives"], key=lambda r: (r["communicator"], r["message_bytes"])):
    print(*(row[k] for k in ("operation", "communicator", "message_bytes", "count", "timed",
                             "total_ns", "algorithm_gb_s", "bus_gb_s", "why")))
print(report["calls"], "calls", report["bytes"], "bytes", report["unsized"], "unsized")
print(report["kernels"], report["no_calls"])
print(report["communicators"])
END
cat >is_recorded.sh <<'END'
env -u LD_PRELOAD gpuprof dump r.gpr | grep -q ' gpu_time what='
END
gpuprof run -q --gpu-time -o r.gpr -- $BUILD/victims/nccl_calls await "sh is_recorded.sh" >out
gpuprof collectives --json r.gpr | python3 show.py
# without GPU time
gpuprof run -q -o n.gpr -- $BUILD/victims/nccl_calls >out
gpuprof collectives n.gpr | sed 2d
# NCCL is silent
gpuprof run -q -o s.gpr -- env NCCL_NVTX_DISABLE=1 $BUILD/victims/launch_from_threads 1 >/dev/null
gpuprof collectives $(ls s.gpr* | head -n 1) | sed 2d
# the rank in the name of an exported file
gpuprof export --format torch -o ranks/ n.gpr 2>&1 | grep -o "wrote '.*pickle'"
# the launcher's rank, unless NCCL has more ranks than the launcher
for variables in "RANK=5 WORLD_SIZE=16" "RANK=5 WORLD_SIZE=1" SLURM_PROCID=5; do
	rm -f n.gpr
	env $variables gpuprof run -q -o n.gpr -- $BUILD/victims/nccl_calls >out
	gpuprof info n.gpr | grep ^rank
	gpuprof export --format chrome -o "$variables/" n.gpr 2>/dev/null
	grep -o '"distributedInfo": {[^}]*}' "$variables"/*.json
done
