#!/bin/sh
# Runs each scenario of a job that uses CUPTI three times: alone, with libgpuprof-cupti.so that only
# forwards ("unasked"), and with one that collects. tests/cupti/shared_cupti.c has the checks.
#   run_cupti.sh BUILD [SCENARIO...]
build=$(cd "$1" && pwd) || exit 2
shift
dir=$build/run/cupti
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
sink=$build/cupti/gpu_sink.so
ours=$build/libgpuprof-cupti.so
fake=$build/fake

# run NAME VARIABLE=VALUE...: one run of a scenario, named NAME.WAY
run() {
	run=$1
	shift
	# our end waits a second at most for its thread, so a busy machine gets more attempts
	for _ in 1 2 3; do
		timeout -k 5 120 env LD_LIBRARY_PATH="$fake" "$@" \
			"$build/cupti/shared_cupti" "${run%.*}" >"$dir/$run.out" 2>&1
		status=$?
		grep -q '^ours saw .* 0 times' "$dir/$run.out" || break
		echo "again $run: $(cat "$dir/$run.out")"
	done
	if [ $status = 0 ] && [ ! -s "$dir/$run.out" ]; then
		echo "pass cupti/$run" >>"$results"
	else
		echo "fail cupti/$run ended with $status: $(tail -n 1 "$dir/$run.out")" |
			tee -a "$results"
		failed=1
	fi
}

# scenario NAME MODE VARIABLE=VALUE...: MODE is that of the sink
scenario() {
	name=$1 mode=$2
	shift 2
	case " $wanted " in
	"  " | *" $name "*) ;;
	*) return ;;
	esac
	run "$name.bare" "$@"
	run "$name.unasked" LD_PRELOAD="$sink:$ours" "$@"
	run "$name.$mode" LD_PRELOAD="$sink:$ours" GPU_SINK="$mode" \
		FAKE_CUPTI_ERRNO=1 "$@"
}

wanted=$*
for name in job_alone ours_alone ours_first job_first job_flushes tiny_buffers fills_buffers \
	no_buffers finalizes kernel_kinds contexts own_clock locked_clock clock_after_end forks \
	exits ends_early two_libraries; do
	scenario $name always
done
scenario ours_first always FAKE_CUPTI_VERSION=28
scenario job_flushes always FAKE_CUPTI_LATE_US=20000
scenario tiny_buffers always FAKE_CUPTI_BYTES=20000
scenario windows window
scenario window_within window
scenario periodic always FAKE_CUPTI_PERIOD_US=5000
scenario windows window FAKE_CUPTI_BYTES=5000
scenario threads window FAKE_CUPTI_NS=20
scenario threads_always always FAKE_CUPTI_NS=20
scenario held always FAKE_CUPTI_HELD=1
scenario held_window window FAKE_CUPTI_HELD=1
scenario held_between window
scenario exits_window window
scenario old_cupti always FAKE_CUPTI_VERSION=13
scenario part_missing always LD_LIBRARY_PATH="$fake/cupti_part:$fake"

# a CUPTI that the job loads after ours: the job gets its own, and we stop
if [ -z "$wanted" ] || [ "$wanted" = late_cupti ]; then
	mkdir -p "$dir/only"
	ln -sf "$fake/libcuda.so.1" "$fake/libcupti.so.13" "$dir/only"
	for how in "" looked_up; do
		if LD_LIBRARY_PATH=$dir/only LD_PRELOAD=$sink:$ours GPU_SINK=always \
			timeout -k 5 120 "$build/cupti/late_cupti" "$fake/libcupti.so.12" $how \
			>"$dir/late_cupti.out" 2>&1; then
			echo "pass cupti/late_cupti${how:+.$how}" >>"$results"
		else
			why=$(tail -n 1 "$dir/late_cupti.out")
			echo "fail cupti/late_cupti${how:+.$how}: $why" | tee -a "$results"
			failed=1
		fi
	done
fi

# what sharing relies on, with NVIDIA's CUPTI
if [ -z "$wanted" ] || [ "$wanted" = real_records ]; then
	status=77 out=$dir/real_records.out
	for folder in lib64 lib extras/CUPTI/lib64; do
		real=/usr/local/cuda/$folder/libcupti.so.13
		[ -e "$real" ] || continue
		timeout -k 5 120 "$build/cupti/real_records" "$real" >"$out" 2>&1
		status=$?
	done
	case $status in
	0) echo "pass cupti/real_records" >>"$results" ;;
	77) echo "skip cupti/real_records no CUPTI of CUDA 13.0 here" >>"$results" ;;
	*)
		echo "fail cupti/real_records: $(tail -n 1 "$out")" | tee -a "$results"
		failed=1
		;;
	esac
fi

# the host interface of the real CUPTI needs no GPU
if [ -z "$wanted" ] || [ "$wanted" = usual_metrics ]; then
	real=/usr/local/cuda/lib64/libcupti.so.13
	if [ ! -e "$real" ]; then
		echo "skip cupti/usual_metrics no CUPTI of CUDA 13" >>"$results"
	elif "$build/cupti/usual_metrics" "$real" >"$dir/usual_metrics.out" 2>&1; then
		echo "pass cupti/usual_metrics" >>"$results"
	else
		echo "fail cupti/usual_metrics: $(tail -n 1 "$dir/usual_metrics.out")" |
			tee -a "$results"
		failed=1
	fi
fi
exit $failed
