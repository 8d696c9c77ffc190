# The cost of recording: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# the cost with default options: stacks and allocator details, compared with PyTorch without listeners; a step that the
# host bounds runs COST_RUNS times, and these runs are judged as one; another step is bound by the GPU
# exit status 1: over its limit; Python also exits with 1 after an exception
cost_ended() {
	[ "$2" -le 1 ] && ! grep -q '^Traceback' "$work/cost.err" && return
	say "FAIL $1: did not finish"
	tail -n 15 "$work/cost.err"
}
default_cost_run() {
	result=$1
	shift
	seconds=${COST_SECONDS:-60}
	LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/$result.gpr \
		timeout -k 10 "$((seconds + 90))" "$python" "$here/paired_cost.py" "$@" \
		--control-level "$build/gpu/control_level" --tracker "$build/gpu/libtold_trackers.so" \
		--seconds "$seconds" --json "$work/$result.json" 2>"$work/cost.err"
	if [ -s "$work/$result.json" ]; then
		cp "$work/$result.json" "$out"
	else
		say "FAIL default_cost: $result has no result"
		tail -n 15 "$work/cost.err"
	fi
}
section_default_cost() {
	need_torch default_cost || return 0
	run=1
	while [ "$run" -le "${COST_RUNS:-1}" ]; do
		# two steps of each kind in a row, so that one of five steps is untimed, instead of one of three
		default_cost_run "default_cost$run" --steps 2 --history --half-width 0.003 --limit 0.02 --upper-limit 0.025
		run=$((run + 1))
	done
	"$python" "$here/pool_cost.py" "$work"/default_cost[0-9]*.json
	"$python" "$here/pool_cost.py" --history "$work"/default_cost[0-9]*.json | sed -n '$s/^PASS/     history:/p'
	default_cost_run default_cost--large --large --half-width 0.0005 --limit 0.002
}
# a job that allocates until it fails, and launches nothing
section_no_launch() {
	need_torch no_launch || return 0
	timeout -k 10 120 "$gpuprof" run -q -o "$work/no_launch.gpr" -- "$python" "$here/fill_without_launch.py" >"$work/no_launch.out" 2>&1
	timeout -k 10 60 "$gpuprof" dump --json "$work/no_launch.gpr" | "$python" -c '
import json, sys
blocks = launches = told = again = 0
for line in sys.stdin:
    e = json.loads(line)
    launches += e.get("kind") == "launch"
    blocks += e.get("kind") == "block_alloc"
    told += e.get("kind") == "block_alloc" and e.get("spare", 0) > 0
    again += e.get("kind") == "block_existing" and e.get("spare", 0) > 0
good = blocks > 1 and told + again >= blocks
print("PASS" if good else "FAIL", f"no_launch: {blocks} blocks, {told} with details, {again} taken over, {launches} launches")'
	timeout -k 10 60 "$gpuprof" oom "$work/no_launch.gpr" 2>&1 | sed 's/^/     /' | head -n 20
	[ ! -s "$work/no_launch.gpr" ] || cp "$work/no_launch.gpr" "$out"
}
section_stack_cost() {
	need_torch stack_cost || return 0
	(
		export LD_PRELOAD="$build/libgpuprof.so" GPUPROF_STACKS=all GPUPROF_ALLOCATOR_DETAILS=off
		seconds=${COST_SECONDS:-60}
		GPUPROF_OUTPUT=$work/stack_cost.gpr timeout -k 10 "$((seconds + 90))" "$python" "$here/paired_cost.py" \
			--control-level "$build/gpu/control_level" --seconds "$seconds" --half-width 0.003 --limit 0.02 \
			--json "$work/stack_cost.json" 2>"$work/cost.err"
		cost_ended stack_cost $?
		GPUPROF_OUTPUT=$work/pair_cost.gpr timeout -k 10 120 "$python" "$here/pair_cost.py" \
			--control-level "$build/gpu/control_level" 2>"$work/cost.err"
		cost_ended pair_cost $?
	)
	judge stack_cost
}
# the cost of the scan for uses, and its result for a job with planted buffers
section_idle() {
	need_torch idle || return 0
	for job in eager graph planted; do
		case $job in
		eager) set -- "$here/gpt_train.py" --steps 6 ;;
		graph) set -- "$here/gpt_train.py" --steps 8 --graph ;;
		planted) set -- "$here/idle_job.py" ;;
		esac
		PEAKS_OUT=$work/idle-$job.peaks timeout -k 10 120 "$gpuprof" run -q --no-symbolize --track-access --stacks=python \
			-o "$work/idle-$job.gpr" -- "$python" "$@" >"$work/idle-$job.out" 2>"$work/idle-$job.err"
		recorded=$?
		bare "idle-$job" 120 "$python" "$@"
		after_both "idle-$job" "$recorded" $?
		timeout -k 10 100 "$python" "$here/judge_idle.py" --name "idle-$job" --gpuprof "$gpuprof" \
			--recording "$work/idle-$job.gpr" --source "$here/idle_job.py" 2>&1
		[ ! -s "$work/idle-$job.gpr" ] || cp "$work/idle-$job.gpr" "$out"
	done
	timeout -k 10 60 "$gpuprof" idle "$work/idle-eager.gpr" 2>&1 | sed 's/^/     /' | head -n 45
	(
		export LD_PRELOAD="$build/libgpuprof.so" GPUPROF_LIGHT=on GPUPROF_TRACK_ACCESS=on
		GPUPROF_OUTPUT=$work/use_burst.gpr timeout -k 10 120 "$python" "$here/use_cost.py" \
			--control-level "$build/gpu/control_level" 2>"$work/cost.err"
		cost_ended use_cost $?
		seconds=${COST_SECONDS:-60}
		GPUPROF_OUTPUT=$work/use_cost.gpr timeout -k 10 "$((seconds + 90))" "$python" "$here/paired_cost.py" --track-access \
			--control-level "$build/gpu/control_level" --seconds "$seconds" --half-width 0.002 --limit 0.02 \
			--json "$work/use_cost.json" 2>"$work/cost.err"
		cost_ended use_cost $?
	)
	timeout -k 10 60 "$python" "$here/judge_idle.py" --name use_cost --gpuprof "$gpuprof" \
		--recording "$work/use_cost.gpr" --cost "$work/use_cost.json" 2>&1
}
section_cost() {
	need_torch cost || return 0
	for null in --null ""; do
		seconds=${COST_SECONDS:-60}
		[ -n "$null" ] && seconds=$((seconds / 3))
		LD_PRELOAD=$build/libgpuprof.so GPUPROF_LIGHT=on GPUPROF_OUTPUT=$work/cost$null.gpr timeout -k 10 "$((seconds + 90))" \
			"$python" "$here/paired_cost.py" --control-level "$build/gpu/control_level" \
			--seconds "$seconds" --half-width 0.002 --json "$work/cost$null.json" $null 2>"$work/cost.err"
		cost_ended cost $?
	done
	judge cost
}
