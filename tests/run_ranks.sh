#!/bin/sh
# 64 fake ranks, each with its recording in one directory: one is slow, one leaks, one holds more,
# one fails. Each command must name the right one, in less than 5 s of processor time.
#	run_ranks.sh BUILD [SLOW LEAKING HOLDING FAILING]	default: 17 23 5 41
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/ranks
results=${RESULTS:-$dir/results}
gpuprof=$build/gpuprof
slow=${2:-17} leaks=${3:-23} holds=${4:-5} fails=${5:-41}
failed=0
export LC_ALL=C.UTF-8
rm -rf "$dir"
mkdir -p "$dir/job"

# record RANK WAY
record() {
	steps=${3:-40}
	env RANK="$1" LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$build/libgpuprof.so" \
		GPUPROF_OUTPUT="$dir/job/rank-%r.gpr" GPUPROF_STACKS=native GPUPROF_RING=0 \
		"$build/victims/one_of_many" "$steps" "$2" >>"$dir/job.out" 2>&1
}

if grep -q __asan_init "$build/libgpuprof.so"; then
	echo "skip ranks/all the library holds a sanitizer" >>"$results"
	exit 0
fi
rank=0
while [ $rank -lt 64 ]; do
	case $rank in
	"$slow") way=slow ;;
	"$leaks") way=leaks ;;
	"$holds") way=holds ;;
	"$fails") way=fails ;;
	*) way=alike ;;
	esac
	# another one fails later, but sooner after its own start
	if [ $rank = 63 ]; then
		wait
		record $rank fails 4 &
	else
		record $rank $way &
	fi
	rank=$((rank + 1))
	[ $((rank % 4)) -ne 0 ] || wait
done
wait

# judge NAME BEGIN COMMAND...: the output must have a line that begins with BEGIN, in time
judge() {
	name=$1 column=$2 why=
	shift 2
	bash -c 'TIMEFORMAT="%U %S"; time "$@" 2>/dev/null' - "$gpuprof" "$@" "$dir/job" \
		>"$dir/$name.out" 2>"$dir/$name.time"
	cpu=$(awk '{ print $1 + $2 }' "$dir/$name.time")
	grep -q "^$column" "$dir/$name.out" || why="not found: $column"
	awk "BEGIN { exit !($cpu < 5) }" || why="it took $cpu s of processor time"
	if [ -z "$why" ]; then
		echo "pass ranks/$name" >>"$results"
	else
		echo "fail ranks/$name $why (see $dir/$name.out)" | tee -a "$results"
		failed=1
	fi
}

job=$dir/job
judge info "outlier: rank-17: a step " info
judge info_leak "leak: rank-23, 128 KiB a step" info
judge info_oom "first OOM: rank-41, at .*; 1 more recording" info
judge timeline "outlier: rank-17: a step " timeline
judge peak "outlier: rank-5: allocated " peak
judge leaks "leak: rank-23, 128 KiB a step" leaks
judge frag "first OOM: rank-41, at .*; 1 more recording" frag
judge check "FAIL in 1 of 64 recordings: $job/rank-23.gpr$" check --max-growth 0
judge oom "first OOM: rank-41, .* before rank-63, at " oom
judge oom_reason "cause     capacity: " oom
exit $failed
