#!/bin/sh
# Replays what fuzzing left behind: recordings of tests/data and tests/fuzz/corpus, and hostile ones
# that are made here, each through every choice of its target, then RUNS mutations of them.
#   run_fuzz.sh BUILD RUNS
build=$(cd "$1" && pwd) || exit 2
runs=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/fuzz
results=${RESULTS:-$dir/results}
programs=$build/fuzz/driver
failed=0
rm -rf "$dir"
mkdir -p "$dir/made"
cd "$dir" || exit 2
FUZZ_DIR=$dir
export FUZZ_DIR

# made NAME COUNT: small enough for each of them under a sanitizer, large enough to be seen
made() {
	"$build/fuzz/make_hostile" "$1" "$2" "$dir/made/$1-$2.gpr" || failed=1
}
made repeats 2000
made threads 100
made handles 3000
made live_collisions 5000
made meaning_collisions 5000
made doubts 70000
made modules 500
made magics 20000
made names 1000000
made late 0
made space 33
made space 255
made kind 127
made kind 200
made kind 65535
made texts 1

# target NAME RUNS FILE...
target() {
	name=$1 count=$2
	shift 2
	if why=$(nice "$programs/fuzz_$name" -n "$count" "$@" 2>&1 >"$name.out"); then
		echo "pass fuzz/$name" >>"$results"
		cat "$name.out"
	else
		echo "fail fuzz/$name (see $dir)" >>"$results"
		printf 'fail fuzz_%s: %s\n' "$name" "$why"
		failed=1
	fi
}

# only small ones go through all choices of the commands: each of them is a run of a whole command
small=$(find "$here/fuzz/corpus" "$dir/made" "$here/data" -name '*.gpr' -size -40k | sort)
all=$(find "$here/fuzz/corpus" "$dir/made" "$here/data" -name '*.gpr' | sort)
# shellcheck disable=SC2086 # names without blanks
{
	target block "$runs" $small &
	target recording "$runs" $all &
	target commands "$runs" $small
	wait
}
exit $failed
