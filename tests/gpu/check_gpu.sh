#!/bin/sh
# Records real jobs on a real GPU, and compares the recordings with PyTorch, CUPTI and the jobs themselves.
#
#	check_gpu.sh [SECTION...]	the default is all sections, the most important ones first
#
# BUILD (or BUNDLE) names the build to test, OUT the folder for results.txt and the recordings
# (default $BUILD/check-gpu), WORK a folder for the jobs' files that stays (default: a temporary
# one). Prints one PASS, FAIL or SKIP line a claim; exit 1 when one failed. Tests that cannot run
# here (no torch, one GPU) are skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# in a bundle the build is two folders up
[ -x "$here/../../gpuprof" ] && BUNDLE=${BUNDLE:-$here/../..}
build=$(cd "${BUNDLE:-${BUILD:-build}}" && pwd) || exit 2
out=${OUT:-$build/check-gpu}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
gpuprof=$build/gpuprof
if [ -n "${WORK-}" ]; then
	mkdir -p "$WORK" && work=$(cd "$WORK" && pwd) || exit 2
else
	work=$(mktemp -d) || exit 2
	trap 'rm -rf "$work"' EXIT
fi
python=${PYTHON:-python3}
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}"
# the recorded job compiles first and fills these caches, so that its bare twin is not slower
export TORCHINDUCTOR_CACHE_DIR="$work/inductor" TRITON_CACHE_DIR="$work/triton"
unset GPUPROF_OUTPUT LD_PRELOAD

kept_recordings="eager expandable graph oom mlp killed"
all_sections="eager cupti expandable graph oom mlp profiler workers shell killed doctor trainer others stacks trace
snapshots report exports fits oom_kinds oom_advice leaks diff ranges phases roles modules spans number_line moments cost stack_cost default_cost no_launch idle waits graphs gpu_time counters pm_sampling gpu_time_cost compile serving reduce two-gpus ranks role_ranks module_ranks collectives gpu_time_ranks recipes compatibility fake rings"

say() { printf '%s\n' "$*"; }
skip() { say "SKIP $*"; }
# claim NAME WHAT COMMAND...: PASS when the command succeeds; returns 1 when it fails
claim() {
	name=$1 what=$2
	shift 2
	if "$@"; then say "PASS $name: $what"; return 0; fi
	say "FAIL $name: $what"
	return 1
}
same() { cmp -s "$1" "$2"; }
is_one() { [ "$(find "$work" -name "$1.gpr" -o -name "$1.*.gpr" | wc -l)" -eq 1 ]; }
succeeded() { [ "$1" -eq 0 ]; }

has_torch=$("$python" -c 'import torch; print(int(torch.cuda.is_available()))' 2>/dev/null || echo 0)
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
# true when no other processes use the GPU
[ -z "${CUDA_VISIBLE_DEVICES-}" ] || gpus=$(echo "$CUDA_VISIBLE_DEVICES" | tr , '\n' | grep -c .)
need_torch() {
	[ "$has_torch" = 1 ] && return 0
	skip "$1: $python has no torch with a GPU"
	return 1
}
need_gpus() {
	[ "$gpus" -ge "$2" ] && return 0
	skip "$1: $gpus GPU(s), needs $2"
	return 1
}

# record NAME SECONDS COMMAND...: leaves $work/NAME.{gpr,out,err,peaks}
record() {
	name=$1 seconds=$2
	shift 2
	PEAKS_OUT=$work/$name.peaks timeout -k 10 "$seconds" \
		"$gpuprof" run -q -o "$work/$name.gpr" -- "$@" >"$work/$name.out" 2>"$work/$name.err"
}
bare() {
	name=$1 seconds=$2
	shift 2
	PEAKS_OUT=$work/$name.bare-peaks timeout -k 10 "$seconds" "$@" >"$work/$name.bare" 2>"$work/$name.bare-err"
}
# judge NAME ARGUMENTS...
judge() {
	name=$1
	shift
	"$python" "$here/judge_recording.py" --name "$name" --gpuprof "$gpuprof" \
		--recording "$work/$name.gpr" "$@" 2>&1 ||
		"$gpuprof" info "$work/$name.gpr" 2>&1 | sed 's/^/     /' | head -n 12
	case " $kept_recordings " in
	*" $name "*) [ -f "$work/$name.gpr" ] && cp "$work/$name.gpr" "$out" ;;
	esac
}
# after_both NAME STATUS_RECORDED STATUS_BARE: checks that the two runs of one job are alike
after_both() {
	claim "$1" "recorded job ends well (exit $2)" succeeded "$2"
	claim "$1" "bare job ends well (exit $3)" succeeded "$3"
	claim "$1" "stdout is the same with and without the preload ($(wc -l <"$work/$1.out") lines)" \
		same "$work/$1.out" "$work/$1.bare"
	claim "$1" "one recording" is_one "$1"
	[ "$2" -eq 0 ] || tail -n 15 "$work/$1.err"
	[ "$3" -eq 0 ] || tail -n 15 "$work/$1.bare-err"
	grep -h '^gpuprof' "$work/$1.err" | head -n 5
}
# torch_job NAME together|alone SECONDS ARGUMENTS...: recorded and bare, at the same time if memory suffices
torch_job() {
	job=$1 how=$2 limit=$3
	shift 3
	need_torch "$job" || return 0
	if [ "$how" = together ]; then
		bare "$job" "$limit" "$python" "$here/gpt_train.py" "$@" &
		record "$job" "$limit" "$python" "$here/gpt_train.py" "$@"
		recorded=$?
		wait $!
		plain=$?
	else
		record "$job" "$limit" "$python" "$here/gpt_train.py" "$@"
		recorded=$?
		bare "$job" "$limit" "$python" "$here/gpt_train.py" "$@"
		plain=$?
	fi
	after_both "$job" "$recorded" "$plain"
	judge "$job" --peaks "$work/$job.peaks" $extra
}
section_eager() {
	torch_job eager together 90 --steps 8
	(
		export GPUPROF_LIGHT=on
		extra="--bytes-per-event 4" # the limit of a recording without stacks
		torch_job eager_light together 90 --steps 8
	)
}
section_cupti() {
	need_torch cupti || return 0
	if [ ! -f "$build/gpu/libcupti_count.so" ]; then
		skip "cupti: libcupti_count.so was not built (no cupti.h)"
		return 0
	fi
	(
		export CUDA_INJECTION64_PATH="$build/gpu/libcupti_count.so" CUPTI_COUNT_OUT="$work/cupti.count"
		record cupti 90 "$python" "$here/gpt_train.py" --steps 8
	)
	claim cupti "recorded job ends well (exit $?)" [ -s "$work/cupti.count" ]
	[ -s "$work/cupti.count" ] || { tail -n 15 "$work/cupti.err"; return 0; }
	judge cupti --peaks "$work/cupti.peaks" --cupti "$work/cupti.count"
}
section_expandable() {
	(
		export PYTORCH_ALLOC_CONF=expandable_segments:True PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
		torch_job expandable together 90 --steps 6
	)
}
section_graph() { torch_job graph together 90 --steps 8 --graph; }
section_oom() { torch_job oom alone 90 --steps 3 --oom; }
section_workers() { torch_job workers together 90 --steps 6 --dataloader-workers 2; }
section_compile() {
	torch_job compile alone 150 --steps 3 --layers 4 --compile
}
section_reduce() {
	torch_job reduce alone 150 --steps 5 --layers 4 --compile --compile-mode reduce-overhead
}
section_profiler() {
	torch_job profiler together 90 --steps 3 --profiler
	[ "$has_torch" = 1 ] || return 0
	events() {
		"$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["profiler_events"])' "$1" 2>&1
	}
	with=$(events "$work/profiler.peaks") without=$(events "$work/profiler.bare-peaks")
	claim profiler "torch.profiler got $with GPU events recorded, $without bare" [ "$with" = "$without" ]
}

mlp_job() {
	job=$1
	shift
	bare "$job" 60 "$build/kernels/mlp_train" "$@" &
	record "$job" 60 "$build/kernels/mlp_train" "$@"
	recorded=$?
	wait $!
	after_both "$job" "$recorded" $?
	judge "$job" --mlp "$work/$job.out"
}
section_mlp() {
	if [ ! -x "$build/kernels/mlp_train" ]; then
		skip "mlp: mlp_train was not built (no nvcc)"
		return 0
	fi
	need_gpus mlp 1 || return 0
	mlp_job mlp --steps 50
	mlp_job mlp-graph --steps 50 --graph
	mlp_job mlp-async --steps 50 --async
	for mode in graph async; do
		grep -h '^final' "$work/mlp.out" >"$work/final" 2>/dev/null
		grep -h '^final' "$work/mlp-$mode.out" >"$work/final-$mode" 2>/dev/null
		claim "mlp-$mode" "final loss as in the eager run ($(cat "$work/final-$mode"))" \
			same "$work/final" "$work/final-$mode"
	done
	need_gpus mlp-two 2 && mlp_job mlp-two --steps 30 --gpus 2
}
section_two_gpus() { need_gpus two-gpus 2 && torch_job two-gpus together 90 --steps 5 --two-gpus; }
section_ranks() {
	need_gpus ranks 2 && need_torch ranks || return 0
	PEAKS_OUT=$work/ranks.peaks timeout -k 10 150 "$gpuprof" run -q -o "$work/ranks-%r.gpr" -- \
		"$python" -m torch.distributed.run --nproc-per-node=2 --master-addr=127.0.0.1 --master-port=29511 \
		"$here/gpt_train.py" --steps 5 --layers 4 --ddp >"$work/ranks.out" 2>"$work/ranks.err"
	status=$?
	claim ranks "two ranks end well (exit $status)" succeeded "$status"
	[ "$status" -eq 0 ] || tail -n 15 "$work/ranks.err"
	PEAKS_OUT=$work/ranks.bare-peaks timeout -k 10 150 \
		"$python" -m torch.distributed.run --nproc-per-node=2 --master-addr=127.0.0.1 --master-port=29511 \
		"$here/gpt_train.py" --steps 5 --layers 4 --ddp >"$work/ranks.bare" 2>"$work/ranks.bare-err"
	claim ranks "stdout is the same with and without the preload" same "$work/ranks.out" "$work/ranks.bare"
	for rank in 0 1; do
		judge "ranks-$rank" --peaks "$work/ranks.peaks.$rank"
	done
	"$gpuprof" info "$work/ranks-0.gpr" "$work/ranks-1.gpr"
}
# tries the recipes of docs/RECIPES.md and prints a line for each
section_recipes() {
	need_gpus recipes 1 || return 0
	timeout -k 10 260 "$python" "$here/recipes.py" --gpuprof "$gpuprof" --work "$work/recipes" 2>&1 |
		tee "$work/recipes.out"
	claim recipes "all recipes were tried" grep -q '^     recipes: ' "$work/recipes.out"
}
section_shell() {
	mkdir -p "$work/shell"
	many='i=0
		while [ $i -lt 150 ]; do /bin/true; ls / | wc -l; echo $i | sed s/1/2/ | cat; i=$((i + 1)); done
		python3 -c "import sys; print(sys.path[0])"'
	sh -c "$many" >"$work/shell.bare" 2>"$work/shell.bare-err"
	LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/shell/%p.gpr \
		sh -c "$many" >"$work/shell.out" 2>"$work/shell.err"
	claim shell "many programs without a GPU end well" succeeded $?
	claim shell "same stdout ($(wc -l <"$work/shell.out") lines)" same "$work/shell.out" "$work/shell.bare"
	claim shell "same stderr" same "$work/shell.err" "$work/shell.bare-err"
	claim shell "no file" rmdir "$work/shell"
}
# until_step N: reads the job's lines from descriptor 5 until the job has ended step N
until_step() {
	while read -r line <&5; do
		case $line in "step $1 "*) return 0 ;; esac
	done
	return 1
}
# A training job: its recording is stopped and started from outside, then the job is killed within a step.
section_killed() {
	need_torch killed || return 0
	mkfifo "$work/killed.steps"
	LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/killed.gpr "$python" "$here/gpt_train.py" \
		--steps 100000 >"$work/killed.steps" 2>"$work/killed.err" &
	job=$!
	exec 5<"$work/killed.steps"
	claim killed "trains" until_step 4
	claim killed "ctl stop" "$gpuprof" ctl "$job" stop
	claim killed "goes on training" until_step 8
	claim killed "ctl status" "$gpuprof" ctl "$job" status
	claim killed "ctl start" "$gpuprof" ctl "$job" start
	claim killed "goes on training" until_step 16
	kill -9 "$job"
	wait "$job" 2>/dev/null
	exec 5<&-
	judge killed
	"$gpuprof" info "$work/killed.gpr" | head -n 1
}
section_doctor() {
	need_gpus doctor 1 || return 0
	"$gpuprof" doctor >"$work/doctor.out" 2>&1
	status=$?
	claim doctor "finds nothing wrong (exit $status)" succeeded "$status"
	sed 's/^/     /' "$work/doctor.out"
}
block_stacks() { timeout -k 10 100 "$gpuprof" dump --json --native --kind block_alloc "$work/$1.gpr"; }
# compares both histories of the same allocations, and the stored names with the names in the files
section_stacks() {
	need_torch stacks || return 0
	HISTORY_OUT=$work/stacks.history PEAKS_OUT=$work/stacks.peaks timeout -k 10 200 \
		"$gpuprof" run -q --no-symbolize --stacks=all -o "$work/stacks.gpr" -- \
		"$python" "$here/both_histories.py" >"$work/stacks.out" 2>"$work/stacks.err"
	recorded=$?
	bare stacks 200 "$python" "$here/both_histories.py"
	after_both stacks "$recorded" $?
	[ -s "$work/stacks.history" ] || return 0
	timeout -k 10 150 "$python" "$here/judge_stacks.py" --gpuprof "$gpuprof" --recording "$work/stacks.gpr" \
		--history "$work/stacks.history" --peaks "$work/stacks.peaks" 2>&1
	block_stacks stacks >"$work/stacks.files"
	start_ns=$(date +%s%N)
	timeout -k 10 60 "$gpuprof" symbolize "$work/stacks.gpr" >"$work/stacks.named" 2>&1
	claim stacks "symbolize ends well (exit $?) after $((($(date +%s%N) - start_ns) / 1000000)) ms" \
		[ -s "$work/stacks.named" ]
	sed 's/^/     /' "$work/stacks.named"
	block_stacks stacks >"$work/stacks.stored"
	claim stacks "stored names are those that the files give ($(wc -l <"$work/stacks.files") lines)" \
		same "$work/stacks.files" "$work/stacks.stored"
	rm -f "$work/stacks.files" "$work/stacks.stored"
	timeout -k 10 60 "$gpuprof" peak "$work/stacks.gpr" 2>&1 | sed 's/^/     /' | head -n 40
	timeout -k 10 60 "$gpuprof" peak --tree "$work/stacks.gpr" 2>&1 | sed 's/^/     /' | head -n 90
	PEAKS_OUT=$work/named.peaks timeout -k 10 60 "$gpuprof" run -v --stacks=all -o "$work/named.gpr" -- \
		"$python" "$here/gpt_train.py" --steps 3 >"$work/named.out" 2>"$work/named.err"
	claim stacks "a recorded job whose names run stores ends well (exit $?)" \
		grep -q 'stored the names of' "$work/named.err"
	grep 'stored the names\|symbolize' "$work/named.err" | sed 's/^/     /'
	judge named --peaks "$work/named.peaks"
}
# compares the reports of a tracker of PyTorch's allocator with PyTorch's own history
section_trace() {
	need_torch trace || return 0
	for how in plain expandable; do
		conf=
		[ "$how" = plain ] || conf=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
		HISTORY_OUT=$work/trace-$how.history timeout -k 10 100 env $conf \
			"$gpuprof" run -q --no-symbolize --allocator-details=on -o "$work/trace-$how.gpr" -- \
			"$python" "$here/every_path.py" >"$work/trace-$how.out" 2>"$work/trace-$how.err"
		recorded=$?
		bare "trace-$how" 100 env $conf "$python" "$here/every_path.py"
		after_both "trace-$how" "$recorded" $?
		[ -s "$work/trace-$how.history" ] || continue
		timeout -k 10 60 "$python" "$here/judge_trace.py" --name "trace-$how" --gpuprof "$gpuprof" \
			--recording "$work/trace-$how.gpr" --history "$work/trace-$how.history" 2>&1
	done
}
# compares segments and blocks of a recording with PyTorch's own snapshots
section_snapshots() {
	need_torch snapshots || return 0
	for kind in eager expandable graphs streams lengths kv_cache trees; do
		SNAPSHOTS_OUT=$work/snapshots-$kind.json timeout -k 10 150 \
			"$gpuprof" run -q --no-symbolize --allocator-details=on -o "$work/snapshots-$kind.gpr" -- \
			"$python" "$here/snapshot_jobs.py" "$kind" \
			>"$work/snapshots-$kind.out" 2>"$work/snapshots-$kind.err" &
		[ "$kind" != streams ] || wait
	done
	wait
	for kind in eager expandable graphs streams lengths kv_cache trees; do
		claim "snapshots-$kind" "job ends well" [ -s "$work/snapshots-$kind.json" ]
		[ -s "$work/snapshots-$kind.json" ] || { tail -n 5 "$work/snapshots-$kind.err"; continue; }
		timeout -k 10 100 "$python" "$here/judge_snapshots.py" --name "snapshots-$kind" --gpuprof "$gpuprof" \
			--recording "$work/snapshots-$kind.gpr" --snapshots "$work/snapshots-$kind.json" 2>&1
		memory_viz "$kind"
	done
}
# memory_viz KIND: checks that PyTorch's own reader accepts the exported file
memory_viz() {
	"$gpuprof" export --format torch -o "$work/$1.pickle" "$work/snapshots-$1.gpr" 2>"$work/viz.err"
	claim "export-$1" "is written" [ -s "$work/$1.pickle" ]
	viz=$("$python" -c 'import torch.cuda._memory_viz as viz; print(viz.__file__)')
	for command in stats trace "trace_plot -o $work/viz.html"; do
		"$python" "$viz" ${command%% *} "$work/$1.pickle" ${command#"${command%% *}"} >"$work/viz.out" 2>&1
		claim "export-$1" "_memory_viz.py ${command%% *}" succeeded $?
	done
}
# jobs that leak, of 60 steps, and jobs that do not, of 200: more steps could cause more false suspects
section_leaks() {
	need_torch leaks || return 0
	leaky="loss_list hooks kv_cache streams pinned deep" clean="train compile serve gpt"
	for job in $leaky $clean; do
		steps=60 script="leak_jobs.py $job"
		case " $clean " in *" $job "*) steps=200 ;; esac
		[ $job != gpt ] || script="gpt_train.py --layers 4 --width 128"
		# shellcheck disable=SC2086 # the script's arguments are words
		timeout -k 10 150 "$gpuprof" run -q --stacks=all -o "$work/leaks-$job.gpr" -- \
			"$python" "$here/"$script --steps $steps >"$work/leaks-$job.out" 2>"$work/leaks-$job.err" &
		[ "$job" != streams ] || wait
	done
	wait
	for job in $leaky $clean; do
		claim "leaks-$job" "recorded job ends well" grep -q "^$job: \|^step 199 " "$work/leaks-$job.out" ||
			tail -n 5 "$work/leaks-$job.err"
		[ ! -s "$work/leaks-$job.gpr" ] || cp "$work/leaks-$job.gpr" "$out"
	done
	for job in $leaky; do
		bytes=$(wc -c <"$work/leaks-$job.gpr")
		claim "leaks-$job" "recording of $bytes bytes is under 300,000" [ "$bytes" -lt 300000 ]
	done
	# shellcheck disable=SC2046 # one word a job
	"$python" "$here/judge_leaks.py" --gpuprof "$gpuprof" --source "$here/leak_jobs.py" --steps 60 \
		$(for job in $leaky; do echo "$job=$work/leaks-$job.gpr"; done) 2>&1
	# shellcheck disable=SC2046
	"$python" "$here/judge_leaks.py" --gpuprof "$gpuprof" --source "$here/leak_jobs.py" --steps 200 \
		$(for job in $clean; do echo "$job=$work/leaks-$job.gpr"; done) 2>&1
}
# finds out which request fits, and tries it in the same process
section_fits() {
	need_torch fits || return 0
	for settings in "" expandable_segments:True max_split_size_mb:32 roundup_power2_divisions:4; do
		tried=$work/fits-${settings%%:*}
		LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$tried.gpr GPUPROF_ALLOCATOR_DETAILS=on timeout -k 10 120 \
			"$python" "$here/oom_trials.py" --gpuprof "$gpuprof" --settings "$settings" >"$tried.out" 2>&1
		claim fits "states under '$settings' are gone through (exit $?)" grep -q 'oom_trials: ' "$tried.out"
		grep -E '^(PASS|FAIL)' "$tried.out" || tail -n 5 "$tried.out"
	done
}
# checks the reason why memory ran out, and follows each advice
section_oom_kinds() {
	need_torch oom_kinds || return 0
	for settings in "" expandable_segments:True; do
		tried=$work/oom-kinds-${settings%%:*}
		# with expandable segments, pages of another stream go back to the driver
		only=
		[ -z "$settings" ] || only=capacity,limit,fragmentation,outside,another_process,cache,driver_capacity
		LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$tried.gpr GPUPROF_STACKS=all GPUPROF_ALLOCATOR_DETAILS=on \
			timeout -k 10 300 "$python" "$here/oom_kinds.py" --gpuprof "$gpuprof" \
			--recording "$tried.gpr" --settings "$settings" --only "$only" >"$tried.out" 2>&1
		claim oom-kinds "cases under '$settings' are gone through (exit $?)" grep -q 'oom_kinds: ' "$tried.out"
		grep -E '^(PASS|FAIL)' "$tried.out" || tail -n 5 "$tried.out"
		[ ! -f "$tried.gpr" ] || cp "$tried.gpr" "$out"
	done
}
# jobs that run out of memory, run again with the first advice, and with a change that is not advised
section_oom_advice() {
	need_torch oom_advice || return 0
	timeout -k 10 280 "$python" "$here/oom_advice.py" --gpuprof "$gpuprof" --work "$work" 2>&1
	cp "$work"/oom-advice-*.gpr "$out" 2>/dev/null
	return 0
}
# compares the ranges of PyTorch and autograd's engine with those that torch.profiler saw in a twin run
section_ranges() {
	need_torch ranges || return 0
	for workers in 0 2; do
		timeout -k 10 100 "$python" "$here/range_twin.py" --workers $workers --profile "$work/ranges-$workers.json" \
			>"$work/ranges-$workers.bare" 2>"$work/ranges-$workers.bare-err" &
		record "ranges-$workers" 100 "$python" "$here/range_twin.py" --workers $workers
		claim ranges "recorded job with $workers workers ends well (exit $?)" [ -s "$work/ranges-$workers.gpr" ]
		wait
		claim ranges "its twin under torch.profiler ends well" [ -s "$work/ranges-$workers.json" ] ||
			tail -n 5 "$work/ranges-$workers.bare-err"
		claim ranges "both print the same" same "$work/ranges-$workers.out" "$work/ranges-$workers.bare"
		"$python" "$here/judge_ranges.py" --gpuprof "$gpuprof" --recording "$work/ranges-$workers.gpr" \
			--profile "$work/ranges-$workers.json" 2>&1
		cp "$work/ranges-$workers.gpr" "$out"
	done
	timeout -k 10 100 "$python" "$here/range_storm.py" >"$work/ranges.storm-bare" 2>&1
	record ranges-storm 100 "$python" "$here/range_storm.py"
	claim ranges "threads that open ranges while the callback comes end well (exit $?)" \
		grep -q 'range_storm: ' "$work/ranges-storm.out"
	cat "$work/ranges.storm-bare" "$work/ranges-storm.out" | sed 's/^/     /'
	judge ranges-storm
	LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/operator_cost.gpr timeout -k 10 100 \
		"$python" "$here/operator_cost.py" 2>"$work/cost.err" ||
		{ say "FAIL operator_cost: did not finish"; tail -n 15 "$work/cost.err"; }
}
# the same for ranges that a job names through NVTX: calls, bytes and peaks of its phases, to the byte
section_phases() {
	need_torch phases || return 0
	record phases 100 "$python" "$here/phase_job.py"
	claim phases "recorded job ends well (exit $?)" [ -s "$work/phases.out" ]
	"$python" "$here/judge_phases.py" --gpuprof "$gpuprof" --recording "$work/phases.gpr" \
		--job "$work/phases.out" 2>&1
	cp "$work/phases.gpr" "$out"
	judge phases
}
# compares spans chosen by profiler calls, ranges and steps with a run that captures all
section_spans() {
	need_torch spans || return 0
	mkdir -p "$work/spans"
	timeout -k 10 300 "$python" "$here/captured_spans.py" "$gpuprof" "$work/spans" 2>&1
	claim spans "all ways to capture were judged (exit $?)" [ -s "$work/spans/span_none.gpr" ]
}
# shellcheck source=tests/gpu/cost_sections.sh
. "$here/cost_sections.sh"
# shellcheck source=tests/gpu/gpu_time_sections.sh
. "$here/gpu_time_sections.sh"
# shellcheck source=tests/gpu/serving_sections.sh
. "$here/serving_sections.sh"
# shellcheck source=tests/gpu/role_sections.sh
. "$here/role_sections.sh"
# shellcheck source=tests/gpu/graph_sections.sh
. "$here/graph_sections.sh"
# shellcheck source=tests/gpu/module_sections.sh
. "$here/module_sections.sh"
# shellcheck source=tests/gpu/report_sections.sh
. "$here/report_sections.sh"
# the same job with and without gradient checkpointing: the difference is the memory of the blocks; and a gate for CI
section_diff() {
	need_torch diff || return 0
	for job in plain again checkpointed; do
		flag=
		[ "$job" = checkpointed ] && flag=--checkpointing
		# shellcheck disable=SC2086
		(
			export GPUPROF_STACKS=all
			record "diff_$job" 120 "$python" "$here/gpt_train.py" --steps 2 --batch 16 $flag
		)
		claim diff "job '$job' ends well (exit $?)" [ -s "$work/diff_$job.peaks" ]
		[ -s "$work/diff_$job.peaks" ] || { tail -n 15 "$work/diff_$job.err"; return 0; }
	done
	claim diff "checkpointing changes no loss ($(wc -l <"$work/diff_plain.out") lines)" \
		same "$work/diff_plain.out" "$work/diff_checkpointed.out"
	timeout -k 10 120 "$python" "$here/judge_diff.py" --gpuprof "$gpuprof" --before "$work/diff_plain.gpr" \
		--after "$work/diff_checkpointed.gpr" --again "$work/diff_again.gpr" --before-peaks "$work/diff_plain.peaks" \
		--after-peaks "$work/diff_checkpointed.peaks" --baseline "$work/baseline.json" 2>&1
	timeout -k 10 60 "$gpuprof" diff --of allocated "$work/diff_plain.gpr" "$work/diff_checkpointed.gpr" 2>&1 |
		sed 's/^/     /' | head -n 60
	timeout -k 10 60 "$gpuprof" check --baseline "$work/baseline.json" "$work/diff_plain.gpr" 2>&1 |
		sed 's/^/     /' | head -n 20
	cp "$work/diff_plain.gpr" "$work/diff_checkpointed.gpr" "$out"
}
has_module() { "$python" -c "import $1" >/dev/null 2>&1; }
section_trainer() {
	need_torch trainer || return 0
	has_module transformers && has_module accelerate || { skip "trainer: no transformers here"; return 0; }
	# it uses all visible GPUs, and the sums over several GPUs differ from run to run
	(
		export CUDA_VISIBLE_DEVICES=0
		bare trainer 120 "$python" "$here/hf_trainer.py" &
		record trainer 120 "$python" "$here/hf_trainer.py"
		recorded=$?
		wait $!
		after_both trainer "$recorded" $?
	)
	judge trainer --peaks "$work/trainer.peaks"
}
section_others() {
	need_gpus others 1 || return 0
	for framework in jax cupy; do
		has_module "$framework" || { skip "others: no $framework here"; continue; }
		bare "$framework" 120 "$python" "$here/other_framework.py" "$framework" &
		record "$framework" 120 "$python" "$here/other_framework.py" "$framework"
		recorded=$?
		wait $!
		after_both "$framework" "$recorded" $?
		judge "$framework"
	done
}
# debuggers, profilers, checkers and limits beside a recorded job
section_compatibility() {
	need_gpus compatibility 1 && need_torch compatibility || return 0
	timeout -k 10 400 "$python" "$here/beside_tools.py" --build "$build" --work "$work" 2>&1
	claim compatibility "every step was gone through (exit $?)" succeeded $?
}
# prints what all earlier sections left in shared memory
section_rings() {
	left=$(find /dev/shm -maxdepth 1 -name '*gpuprof*' | wc -l)
	claim rings "/dev/shm holds no rings at the end ($left left)" [ "$left" -eq 0 ]
}
# The build itself on this machine: unit tests and a victim on the fake driver.
section_fake() {
	export TEST_DATA="${here%/gpu}/data"
	for unit in "$build"/unit/test_*; do
		[ -x "$unit" ] && [ -f "$unit" ] || continue
		timeout -k 5 60 "$unit" >"$work/unit.out" 2>&1
		status=$?
		claim fake "${unit##*/}: $(tail -n 1 "$work/unit.out")" succeeded "$status"
		[ "$status" -eq 0 ] || tail -n 25 "$work/unit.out"
	done
	(
		export LD_LIBRARY_PATH="$build/fake:$build/lib"
		record fake 60 "$build/victims/training_loop" 4
	)
	claim fake "training_loop on the fake driver ends well" succeeded $?
	judge fake
}

run_sections() {
	date -u +'started %F %T'
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || say "no GPU here"
	"$gpuprof" --version 2>&1
	start=$(date +%s)
	# shellcheck disable=SC2086 # a list of words
	[ $# -gt 0 ] || set -- $all_sections
	for section in "$@"; do
		say "== $section ($(($(date +%s) - start)) s)"
		extra=
		"section_$(echo "$section" | tr - _)"
	done
	say "== end ($(($(date +%s) - start)) s)"
}

# later sections need this
"$gpuprof" --version >/dev/null || exit 2
for section in "$@"; do
	case " $(echo $all_sections) " in
	*" $section "*) ;;
	*)
		echo "check_gpu: no section '$section'; there are: $all_sections" >&2
		exit 2
		;;
	esac
done
run_sections "$@" 2>&1 | tee "$out/results.txt"
# keeps the other results: outputs, peaks, small recordings
rm -rf "$work/inductor" "$work/triton"
find "$work" -name '*.gpr' -size +2048k -exec rm {} +
tar -C "$work" -czf "$out/outputs.tar.gz" .
count() { grep -c "^$1 " "$out/results.txt"; }
{
	say
	sed -n 's/^\(PASS\|FAIL\|SKIP\) \([^: ]*\).*/\2 \1/p' "$out/results.txt" |
		awk '{ if (!($1 in row)) job[++n] = $1; row[$1]; count[$1 $2]++ }
		     END {
			printf "%-14s %6s %6s %6s\n", "job", "passed", "failed", "skipped"
			for (i = 1; i <= n; i++)
				printf "%-14s %6d %6d %6d\n", job[i], count[job[i] "PASS"], count[job[i] "FAIL"], \
					count[job[i] "SKIP"]
		     }'
	say "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
} | tee -a "$out/results.txt"
[ "$(count FAIL)" -eq 0 ]
