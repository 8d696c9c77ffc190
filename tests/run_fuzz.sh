#!/bin/sh
# Replays the results of fuzzing: recordings of tests/data and tests/fuzz/corpus, and hostile ones
# that are made here. Each runs through every choice of its target, then RUNS mutations of them.
#   run_fuzz.sh BUILD RUNS [TARGET...]   RUNS `seeds`: writes them as inputs for fuzzers, and runs
#                                none; `bounds`: runs all commands without a sanitizer, as users
#                                do, each within its bounds of time and memory
build=$(cd "$1" && pwd) || exit 2
runs=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# targets that run at the same time have directories of their own
dir=$build/run/fuzz
[ $# = 0 ] || dir=$dir.$1
[ "$runs" != bounds ] || dir=$dir.bounds
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

# target NAME RUNS FILE...: $label is the name of the result, where it is not NAME
label=
target() {
	name=$1 count=$2
	shift 2
	if [ "$count" = seeds ]; then
		mkdir -p "$dir/seeds/$name"
		"$programs/fuzz_$name" -w "$dir/seeds/$name" "$@" || failed=1
		return
	fi
	if why=$("$programs/fuzz_$name" -n "$count" "$@" 2>&1 >"$name.out"); then
		echo "pass fuzz/${label:-$name}" >>"$results"
		cat "$name.out"
	else
		echo "fail fuzz/${label:-$name} (see $dir)" >>"$results"
		printf 'fail fuzz_%s: %s\n' "$name" "$why"
		failed=1
	fi
}

large=$(find "$here/fuzz/corpus/recording" "$dir/made" "$here/data" -name '*.gpr' -size +25k | sort)
# only small ones go through all commands, because each command is a run of its own
small=$(find "$here/fuzz/corpus/recording" "$dir/made" "$here/data" -name '*.gpr' -size -26k | sort)
if [ "$runs" = bounds ]; then
	programs=$build/fuzz/plain label=bounds
	# shellcheck disable=SC3045 # dash and bash have it; larger requests fail soon
	ulimit -v $((2 << 20))
	# shellcheck disable=SC2086 # names without blanks
	target commands 0 $small
	exit $failed
fi
# The real recordings are large, and each is replayed whole. Mutations begin with the small ones.
# shellcheck disable=SC2086 # names without blanks
run_target() {
	case $1 in
	block) target block "$runs" $small ;;
	recording)
		if [ "$runs" = seeds ]; then
			target recording seeds $small $large
		else
			target recording "$runs" $small
			target recording 0 $large
		fi
		;;
	symbols) target symbols "$runs" "$build"/symbols/*.so ;;
	baseline) target baseline "$runs" "$here"/fuzz/corpus/baseline/* ;;
	rings) target rings "$runs" "$here"/fuzz/corpus/rings/* ;;
	commands) target commands "$runs" $small ;;
	esac
}
if [ $# != 0 ]; then
	for one in "$@"; do
		run_target "$one"
	done
	exit $failed
fi
run_target commands &
for one in block symbols baseline rings recording; do
	run_target "$one"
done
wait
# a process that ran beside has written its failures to a file of its own
! grep -q '^fail' "$results" || failed=1
exit $failed
