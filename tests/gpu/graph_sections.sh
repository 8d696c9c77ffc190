# CUDA graphs: a section of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# graph_job WHAT: recorded, leaves $work/graphs_WHAT.{gpr,json,out,err,status}
graph_job() {
	timeout -k 10 200 "$gpuprof" run -q --stacks=python --allocator-details=on \
		-o "$work/graphs_$1.gpr" -- "$python" -B "$here/graph_jobs.py" "$1" \
		"$work/graphs_$1.json" >"$work/graphs_$1.out" 2>"$work/graphs_$1.err"
	echo $? >"$work/graphs_$1.status"
}
# graph_judge JOB...: awaits these jobs
graph_judge() {
	wait
	for job; do
		if [ -s "$work/graphs_$job.skip" ]; then
			skip "graphs: $(cat "$work/graphs_$job.skip")"
			continue
		fi
		status=$(cat "$work/graphs_$job.status")
		claim graphs "job $job ends well (exit $status)" succeeded "$status" || {
			tail -n 5 "$work/graphs_$job.err"
			continue
		}
		"$python" "$here/judge_graphs.py" "$gpuprof" "$work" "$job" 2>&1
	done
}
# calls that break a capture and captures that succeed, by the driver alone; then the private pools
# of six layouts, beside PyTorch's snapshot. They need no quiet machine, so the layouts run at once.
section_graphs() {
	need_gpus graphs 1 || return 0
	graph_job broken &
	graph_job clean &
	record captured_memory 60 "$python" "$here/captured_memory.py"
	claim captured_memory "job ends well" succeeded $?
	"$gpuprof" top --json --no-stacks "$work/captured_memory.gpr" | "$python" -c '
import json, sys
groups = [g for c in json.load(sys.stdin)["curves"] for g in c["groups"] if g["kind"] == "graph"]
made, live = (sum(g[key] for g in groups) for key in ("count", "live_count"))
print("PASS" if (made, live) == (3, 0) else "FAIL",
      f"captured_memory: {made} allocations in captures, {live} live at the end")'
	graph_judge broken clean
	need_torch graphs || return 0
	layouts="own shared_large_first shared_small_first trees expandable nested"
	for job in $layouts; do
		graph_job "$job" &
	done
	# shellcheck disable=SC2086 # a list of words
	graph_judge $layouts
	cp "$work/graphs_own.gpr" "$work/graphs_broken.gpr" "$out"
}
