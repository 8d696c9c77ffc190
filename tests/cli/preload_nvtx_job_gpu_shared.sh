# the job's own profiler collects before and after a window: only operations of the window are left
cat >is_recorded.sh <<'END'
test "$(env -u LD_PRELOAD gpuprof dump w.gpr | grep -c ' gpu_time what=')" -ge "$1"
END
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --gpu-time=step:5-6@step -o w.gpr -- \
	$BUILD/cupti/profiled_steps "sh is_recorded.sh"
gpuprof dump w.gpr | grep -c " gpu_kernel \| gpu_copy " >all
gpuprof kernels --json w.gpr | python3 -c '
import json, sys

report = json.load(sys.stdin)
join = report["join"]
rows = {row["name"]: row for row in report["kernels"]}
for name in "step_5", "step_6":
    print(name, rows[name]["count"], "joined", rows[name]["joined"])
print("others:", sorted(rows.keys() - {"step_5", "step_6", "step_7"})) # it ends beside step 7
sums = [report["total_count"], report["copies"]["count"], report["sets"]["count"], join["outside"]]
print("all:", sum(sums) == int(open("all").read()), "outside:", join["outside"] > 0)
print(join["uncertain"], join["unjoined"], "launches alone", join["launches_alone"])
'
gpuprof kernels w.gpr | sed -n "s/^[0-9,]* \(operations\? of calls outside\)/N \1/p"
gpuprof waits --json w.gpr | python3 -c 'import json, sys
print("exact:", json.load(sys.stdin)["has_gpu_time"])'
