# from the fake CUPTI to the lines of a report: each kernel has a launch, in ranges and outside; if
# the recorder gets no processor for a second, launches are lost, and counted
cat >is_recorded.sh <<'END'
env -u LD_PRELOAD gpuprof dump r.gpr | grep -q ' gpu_time what='
END
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --gpu-time -o r.gpr -- \
	$BUILD/victims/training_ranges 20 await "sh is_recorded.sh" >/dev/null
gpuprof kernels --json --by phase r.gpr | python3 -c '
import json, sys

report = json.load(sys.stdin)
unjoined, lost = report["join"]["unjoined"], report["lost"]["launch"]
print("kernels", report["total_count"], "unjoined without loss", max(0, unjoined - lost))
print(sum(row["count"] for row in report["kernels"]) == report["total_count"])
print(sorted(row["name"] for row in report["kernels"] if not row["rest"]))
'
gpuprof kernels --ncu 1 r.gpr | sed "s/skip [0-9]*/skip N/; s#$BUILD#BUILD#"
