#!/bin/sh
# Replays the results of fuzzing: recordings of tests/data and tests/fuzz/corpus, and hostile ones
# that are made here. Each runs through every choice of its target, then RUNS mutations of them.
#   run_fuzz.sh BUILD RUNS       RUNS `seeds`: writes them as inputs for fuzzers, and runs none;
#                                `bounds`: runs all commands without a sanitizer, as users do, each
#                                within its bounds of time and memory
build=$(cd "$1" && pwd) || exit 2
runs=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/fuzz
results=${RESULTS:-$dir/results}
programs=$build/fuzz/driver
failed=0
rm -rf "$dir"
mkdir -p "$dir/made"
: >"$dir/results"
cd "$dir" || exit 2
FUZZ_DIR=$dir
export FUZZ_DIR

# small enough to be read by each command under a sanitizer; tests/hostile has the large ones
for made in late_time-1 odd_segments-3 odd_spaces-1000 remapped-1000 same_hash_entries-2000 \
	same_hash_definitions-2000 repeats-500 threads_at_once-20 doubts-20000 modules-200 \
	false_magic-5000 dense_names-100000 texts-1 piled_ranges-500 piled_segments-200 \
	unmapped_holes-500 owners_gone-500 owners_gone_in_turn-200 segments_in_front-300 \
	late_halves-500 same_hash_stacks-300 unseen_uses-1000 unseen_launches-1000 \
	refused_unmaps-1000 modules_between-300 gpu_moved-500 gpu_unlike-500 gpu_one_graph-200 \
	nccl_calls-500 gpu_ranges-200 deep_modules-300; do
	"$build/hostile/made_hostile" "${made%-*}" "${made#*-}" "$dir/made/$made.gpr" || failed=1
done

# target NAME RUNS FILE...
target() {
	name=$1 count=$2
	shift 2
	if [ "$count" = seeds ]; then
		mkdir -p "$dir/seeds/$name"
		"$programs/fuzz_$name" -w "$dir/seeds/$name" "$@" || failed=1
		return
	fi
	if why=$(nice "$programs/fuzz_$name" -n "$count" "$@" 2>&1 >"$name.out"); then
		echo "pass fuzz/$name" >>"$results"
		cat "$name.out"
	else
		echo "fail fuzz/$name (see $dir)" >>"$results"
		printf 'fail fuzz_%s: %s\n' "$name" "$why"
		failed=1
	fi
}

recordings=$(find "$here/fuzz/corpus/recording" "$dir/made" "$here/data" -name '*.gpr' | sort)
# only small ones go through all commands, because each command is a run of its own
small=$(find "$here/fuzz/corpus/recording" "$dir/made" "$here/data" -name '*.gpr' -size -26k | sort)
if [ "$runs" = bounds ]; then
	programs=$build/fuzz/plain
	# shellcheck disable=SC3045 # dash and bash have it; larger requests fail soon
	ulimit -v $((2 << 20))
	# shellcheck disable=SC2086 # names without blanks
	target commands 0 $small
	exit $failed
fi
# shellcheck disable=SC2086 # names without blanks
{
	{
		target block "$runs" $small
		target recording "$runs" $recordings
		target symbols "$runs" "$build"/symbols/*.so
		target baseline "$runs" "$here"/fuzz/corpus/baseline/*
		target rings "$runs" "$here"/fuzz/corpus/rings/*
	} &
	target commands "$runs" $small
	wait
}
# a process that ran beside has written its failures to a file of its own
! grep -q '^fail' "$results" || failed=1
exit $failed
