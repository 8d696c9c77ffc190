# from the fake CUPTI to the lines of a report: each kernel has a launch, in ranges and outside
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --gpu-time -o r.gpr -- \
	$BUILD/victims/training_ranges 20 >/dev/null
gpuprof kernels --json --by phase r.gpr | python3 -c '
import json, sys

report = json.load(sys.stdin)
print("kernels", report["total_count"] > 0, "unjoined", report["join"]["unjoined"])
print(sum(row["count"] for row in report["kernels"]) == report["total_count"])
print(sorted(row["name"] for row in report["kernels"] if not row["rest"]))
'
gpuprof kernels --ncu 1 r.gpr | sed "s/skip [0-9]*/skip N/; s#$BUILD#BUILD#"
