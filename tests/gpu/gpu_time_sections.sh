# GPU time, waits, calls of NCCL and counters: sections of check_gpu.sh, which reads this file.
# shellcheck shell=sh disable=SC2154 # its variables
# gpu_time_job NAME JOB WINDOW ARGUMENTS...: beside torch.profiler, and bare. They need no quiet
# machine, so all jobs run at once; gpu_time_judge awaits and judges them.
# $launcher: Python's options that start two ranks; empty: one process
launcher=
gpu_time_bare() {
	job=$1 what=$2 rank=${launcher:+-%r}
	shift 3
	# shellcheck disable=SC2086 # words of the launcher
	timeout -k 10 200 "$python" $launcher "$here/gpu_time_jobs.py" "$what" "$@" \
		--out "$work/$job$rank.bare.json" >"$work/$job.bare" 2>"$work/$job.bare-err"
}
gpu_time_recorded() {
	job=$1 what=$2 option=$3 rank=${launcher:+-%r}
	[ "$option" = always ] || option=step:$option@step
	shift 3
	# shellcheck disable=SC2086
	timeout -k 10 200 "$gpuprof" run -q "--gpu-time=$option" -o "$work/$job$rank.gpr" -- \
		"$python" $launcher "$here/gpu_time_jobs.py" "$what" "$@" \
		--out "$work/$job$rank.json" --await "$gpuprof" "$work/$job$rank.gpr" \
		>"$work/$job.out" 2>"$work/$job.err"
	echo $? >"$work/$job.status"
}
gpu_time_jobs=
gpu_time_job() {
	gpu_time_bare "$@" &
	gpu_time_recorded "$@" &
	gpu_time_jobs="$gpu_time_jobs $1/$3"
}
gpu_time_judge() {
	wait
	for job in $gpu_time_jobs; do
		window=${job#*/} job=${job%/*}
		claim "gpu-time-$job" "recorded job ends well (exit $(cat "$work/$job.status"))" \
			same "$work/$job.out" "$work/$job.bare" || tail -n 5 "$work/$job.err"
		for one in $job${launcher:+-0} ${launcher:+$job-1}; do
			"$python" "$here/judge_gpu_time.py" "$gpuprof" "$work" "$one" "$window" 2>&1
		done
	done
	gpu_time_jobs=
}
section_gpu_time_ranks() {
	need_gpus gpu_time_ranks 2 && need_torch gpu_time_ranks || return 0
	launcher="-m torch.distributed.run --nproc-per-node=2"
	launcher="$launcher --master-addr=127.0.0.1 --master-port=29512"
	gpu_time_bare profiled_ranks ddp always --profile 1-12
	gpu_time_recorded profiled_ranks ddp always --profile 1-12
	gpu_time_jobs=profiled_ranks/always
	gpu_time_judge
	launcher=
}
section_gpu_time() {
	need_torch gpu_time || return 0
	for what in eager compiled graph; do
		gpu_time_job "whole_$what" $what always --profile 1-12
	done
	gpu_time_job profiler_first eager 8-10 --profile 2-4
	gpu_time_job window_first eager 2-4 --profile 8-10
	gpu_time_job window_inside eager 5-6 --profile 2-10
	gpu_time_job profiler_inside eager 2-10 --profile 5-6
	gpu_time_job overlap_begin eager 4-8 --profile 2-6
	gpu_time_job overlap_end eager 2-6 --profile 4-8
	gpu_time_job twice eager always --profile 2-3,6-7
	gpu_time_job schedule eager always --schedule
	gpu_time_judge
}
# what GPU time costs a launch beside CUPTI's own cost, and a window of 2% of the steps
section_gpu_time_cost() {
	if [ -x "$build/gpu/launch_cost" ]; then
		GPUPROF_LIGHT=on timeout -k 10 200 "$gpuprof" run -q --gpu-time=step:1/2@window \
			-o "$work/launch_cost.gpr" -- \
			"$build/gpu/launch_cost" "$gpuprof" "$work/launch_cost.gpr" \
			2>"$work/launch_cost.err"
		ended=$?
		claim gpu_time_cost "launches are measured (exit $ended)" succeeded "$ended"
		[ "$ended" -eq 0 ] || tail -n 5 "$work/launch_cost.err"
	else
		skip "gpu_time_cost: launch_cost was not built (no NVTX headers)"
	fi
	need_torch gpu_time_cost || return 0
	timeout -k 10 400 "$python" "$here/gpu_time_cost.py" --gpuprof "$gpuprof" \
		--directory "$work" 2>&1
}
# wait_job NAME OPTION TRACE FOLDER
wait_job() {
	PROFILE=$3 timeout -k 10 120 "$gpuprof" run -q ${2:+"$2"} -o "$work/$4$1.gpr" -- \
		"$python" "$here/wait_jobs.py" "$1" >"$work/$4$1.out" 2>"$work/$4$1.err"
	claim "waits-$1" "recorded job ends well${2:+, $2}" succeeded $? ||
		tail -n 5 "$work/$4$1.err"
}
# from the driver's calls alone, then with exact gaps
section_waits() {
	need_torch waits || return 0
	mkdir -p "$work/exact"
	for job in item pageable pageable_behind free loader recompile; do
		wait_job "$job" "" "$work/$job.json" ""
		wait_job "$job" --gpu-time "$work/exact/$job.json" exact/
	done
	for job in clean_async clean_pinned clean_read_rarely clean_event clean_workers; do
		wait_job "$job" "" "" ""
		wait_job "$job" --gpu-time "" exact/
	done
	"$python" "$here/judge_waits.py" "$gpuprof" "$work" 2>&1
	"$python" "$here/judge_waits.py" "$gpuprof" "$work/exact" 2>&1
}
# two_ranks NAME PORT SECONDS SCRIPT ARGUMENTS...: leaves $work/NAME-RANK.gpr
two_ranks() {
	job=$1 port=$2 limit=$3
	shift 3
	timeout -k 10 "$limit" "$gpuprof" run -q --gpu-time=always -o "$work/$job-%r.gpr" -- \
		"$python" -m torch.distributed.run --nproc-per-node=2 \
		--master-addr=127.0.0.1 --master-port="$port" "$@" \
		>"$work/$job.out" 2>"$work/$job.err"
	status=$?
	claim "$job" "two ranks end well (exit $status)" succeeded "$status"
	[ "$status" -eq 0 ] || tail -n 15 "$work/$job.err"
}
# calls of NCCL: their number and bytes; bandwidth and overlap against torch.profiler
section_collectives() {
	need_gpus collectives 2 && need_torch collectives || return 0
	two_ranks collectives 29517 300 \
		"$here/collective_jobs.py" "$work/collectives.json"
	for rank in 0 1; do
		"$python" "$here/judge_collectives.py" "$gpuprof" \
			"$work/collectives-$rank.gpr" "$work/collectives.json.$rank" 2>&1
		cp "$work/collectives-$rank.gpr" "$out"
	done
	"$gpuprof" collectives "$work/collectives-0.gpr" "$work/collectives-1.gpr"
	"$gpuprof" collectives "$work/collectives-0.gpr"
	(
		export NCCL_NVTX_DISABLE=1
		two_ranks silent 29519 150 "$here/gpt_train.py" --steps 2 --layers 2 --ddp
	)
	"$gpuprof" collectives "$work/silent-0.gpr" >"$work/silent.txt"
	claim collectives "a silent NCCL is reported" \
		grep -q 'without a call.*NCCL_NVTX_DISABLE' "$work/silent.txt"
}
# Samples of a GPU whose work is known; about 20 s.
section_pm_sampling() {
	need_torch pm_sampling || return 0
	timeout -k 5 60 "$gpuprof" run -q --metrics utilization --interval 5ms \
		-o "$work/samples.gpr" -- "$python" "$here/sample_jobs.py" \
		>"$work/samples.json" 2>"$work/samples.err"
	claim pm_sampling "sampled job ends well (exit $?)" grep -q copy "$work/samples.json" ||
		tail -n 5 "$work/samples.err"
	"$gpuprof" counters "$work/samples.gpr" >"$work/samples.report" 2>&1
	why=$(sed -n 's/.*no counters were recorded: //p' "$work/samples.report")
	case $why in
	*NVreg_RestrictProfilingToAdminUsers*) skip "pm_sampling: $why"; return 0 ;;
	esac
	sed 's/^/     /' "$work/samples.report" | head -n 16
	"$python" "$here/judge_samples.py" \
		"$gpuprof" "$work/samples.gpr" "$work/samples.json" 5 2>&1
}
# Counters of three kernels, in turn with Nsight Compute: the driver must allow both.
section_counters() {
	need_torch counters || return 0
	ncu=${NCU:-$(command -v ncu || echo /usr/local/cuda/bin/ncu)}
	kernels='elementwise|gemm|nvjet|cutlass'
	timeout -k 10 300 "$gpuprof" run -q --metrics roofline --kernel "$kernels" --count 5 \
		-o "$work/counters.gpr" -- "$python" "$here/counter_jobs.py" 1500 \
		>"$work/counters.out" 2>"$work/counters.err"
	recorded=$?
	timeout -k 10 100 "$python" "$here/counter_jobs.py" 1500 \
		>"$work/counters.bare" 2>/dev/null
	claim counters "recorded job ends well (exit $recorded)" \
		same "$work/counters.out" "$work/counters.bare" || tail -n 5 "$work/counters.err"
	"$gpuprof" counters "$work/counters.gpr" >"$work/counters.report" 2>&1
	why=$(sed -n 's/.*no counters were recorded: //p' "$work/counters.report")
	case $why in
	*NVreg_RestrictProfilingToAdminUsers*) skip "counters: $why"; return 0 ;;
	esac
	sed 's/^/     /' "$work/counters.report" | head -n 12
	if ! "$ncu" --version >/dev/null 2>&1; then
		skip "counters: no ncu to compare with (NCU names it)"
		return 0
	fi
	metrics=$("$gpuprof" counters --json "$work/counters.gpr" | "$python" -c 'import json, sys
report = json.load(sys.stdin)
print(",".join(m["name"] for m in report["kernels"][0]["metrics"]))')
	timeout -k 10 500 "$ncu" --metrics "$metrics" --clock-control none --cache-control none \
		--kernel-name-base mangled --kernel-name "regex:$kernels" \
		--launch-skip 9 --launch-count 15 \
		--csv --page raw --print-units base --print-kernel-base mangled \
		--log-file "$work/counters.csv" \
		"$python" "$here/counter_jobs.py" 10 >/dev/null 2>&1
	claim counters "ncu ends well (exit $?)" [ -s "$work/counters.csv" ]
	"$python" "$here/judge_counters.py" \
		"$gpuprof" "$work/counters.gpr" "$work/counters.csv" 2>&1
}
