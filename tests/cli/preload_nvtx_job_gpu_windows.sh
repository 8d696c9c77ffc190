export LD_LIBRARY_PATH=$BUILD/fake
# ten windows of two steps; the first may come before CUPTI is open, and a late switch may join two
export FAKE_CUPTI_NS=100
gpuprof run -q --gpu-time=step:2/10@step -o w.gpr -- $BUILD/victims/training_ranges 100 >out
gpuprof kernels --json w.gpr | python3 -c 'import json, sys
r = json.load(sys.stdin)
row, lost = r["kernels"][0], sum(r["lost"].values()) # on a busy machine, outside of windows too
print("all joined:", row["joined"] == row["count"] == r["total_count"] or lost > 0)
print("of whole windows:", 8 * 240 <= row["count"] <= 10 * 240)'
gpuprof dump w.gpr | awk '/ gpu_time what=1/ { on = 1; windows++ } / gpu_time what=2/ { on = 0 }
	/ launch / { launches += on } / gpu_kernel / { kernels++ }
	END { print "windows:", (windows > 4), "kernels:", (kernels >= launches) }'
