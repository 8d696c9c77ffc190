#!/bin/sh
# A second reader, written from docs/FORMAT.md alone, must read the same as gpuprof: each event of
# `dump --json`, its part of `info --json` and `timeline --json`, and the stored names.
#   run_format.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/format
results=${RESULTS:-$dir/results}
page=$here/../docs/FORMAT.md
failed=0
package=
rm -rf "$dir"
mkdir -p "$dir"

say() {
	echo "$1 format/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}

# record NAME RING PROGRAM ARGUMENT
record() {
	LD_LIBRARY_PATH=$package$build/fake LD_PRELOAD=$build/libgpuprof.so \
		GPUPROF_RING=$2 GPUPROF_OUTPUT=$dir/$1.gpr "$build/victims/$3" "$4" \
		>"$dir/$1.out" 2>&1
}

# compare NAME RECORDING: leaves `why` empty when both readers print the same
compare() {
	ours=$dir/$1.decoded theirs=$dir/$1.dumped why=
	# first, because it adopts the rings of a job that ended before its drain thread had
	# finished
	"$build/gpuprof" dump --json --bare "$2" >"$theirs.json" || why="gpuprof dump fails"
	sed "1s/{\"schema\": 1, /{/" "$theirs.json" >"$theirs"
	"$build/format/golden_replay" "$page" "$2" >"$ours" 2>"$dir/$1.err" ||
		why="the decoder: $(cat "$dir/$1.err")"
	[ -z "$why" ] || return
	[ -s "$ours" ] || why="no events"
	cmp -s "$ours" "$theirs" || why="other events: diff $ours $theirs"
	"$build/format/golden_replay" --sums "$page" "$2" >"$dir/$1.sums" || why="$why no sums"
	{
		"$build/gpuprof" info --json "$2"
		"$build/gpuprof" timeline --json "$2" | grep -v '"complete"'
	} | sed 's/^ *//; s/, "missed_routes": [0-9]*//' |
		grep -E '^"(complete|(events|lost|self_check)": \{"|.*_peak_.*": )' >"$dir/$1.all"
	# only the lines that the decoder prints
	sed 's/:.*//' "$dir/$1.sums" | sort -u | grep -Ff - "$dir/$1.all" >"$dir/$1.told"
	grep -q '^"events": {"' "$dir/$1.sums" || why="$why no counts"
	cmp -s "$dir/$1.sums" "$dir/$1.told" ||
		why="$why other sums: diff $dir/$1.sums $dir/$1.told"
	[ -n "$why" ] || rm -f "$ours"
}

judge() {
	compare "$1" "$2"
	if [ -z "$why" ]; then
		say pass "$1"
	else
		say fail "$1" "$why"
	fi
}

# a recorder without a processor may lose too many events to fill the ring
wrapped() {
	record "$@"
	"$build/gpuprof" info --json "$dir/$1.gpr" >"$dir/$1.info"
	if grep -q '"kept_from_ns": 0,' "$dir/$1.info" &&
		! grep -q '"lost": {"memory": [1-9]' "$dir/$1.info"; then
		say fail "$1" "the ring was not full: nothing was overwritten"
	else
		judge "$1" "$dir/$1.gpr"
	fi
}

for file in "$here"/data/*.gpr; do
	judge "$(basename "$file" .gpr)" "$file"
done
record keep_all 0 training_loop 20
judge keep_all "$dir/keep_all.gpr"
# a ring that is not full: all checkpoints are compared with all events
record segments 8M training_loop 200
judge segments "$dir/segments.gpr"
python3 "$here/cli/patch_header.py" 1456 '\x01' <"$here/data/fake-training.gpr" >"$dir/hole.gpr"
judge hole "$dir/hole.gpr"
wrapped wrapped 1M training_loop 200
wrapped wrapped_mappings 2M expandable 500
# the events of a tracker of the framework's allocator
if [ -e "$build/fake/torch-2.11/version.py" ]; then
	package=$build/fake/torch-2.11/lib:
	export GPUPROF_ALLOCATOR_DETAILS=on
	record streams 0 other_streams expandable
	judge streams "$dir/streams.gpr"
	# two bytes an event where each thread runs for long in its turn
	wrapped wrapped_arenas 1M blocks_storm 700000
	package=
	unset GPUPROF_ALLOCATOR_DETAILS
else
	say skip streams "no C++ compiler"
fi
# stacks, in a ring so that their parts are defined again in each segment
if python3 -c 'import ctypes' 2>"$dir/ctypes"; then
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_STACKS=all \
		GPUPROF_RING=1M GPUPROF_OUTPUT=$dir/stacks.gpr \
		python3 -B "$here/stacks/allocate.py" "$dir/stacks.said" 3000 \
		>"$dir/stacks.out" 2>&1
	judge stacks "$dir/stacks.gpr"
	grep -q '"stack": \[{' "$dir/stacks.dumped" || say fail stacks "no stack in it"
	# and their names, stored in it
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_STACKS=all \
		GPUPROF_OUTPUT=$dir/names.gpr python3 -B "$here/stacks/allocate.py" \
		"$dir/names.said" 3 >"$dir/names.out" 2>&1
	"$build/gpuprof" symbolize "$dir/names.gpr" >"$dir/names.symbolized" 2>&1
	judge names "$dir/names.gpr"
	if why=$("$build/format/golden_names" "$dir/names.gpr" 2>&1 >"$dir/names.rows") &&
		"$build/gpuprof" dump --json --native "$dir/names.gpr" >"$dir/names.dumped" &&
		why=$(python3 "$here/format/judge_names.py" "$dir/names.rows" \
			"$dir/names.dumped" 2>&1); then
		say pass names_rows "$why"
	else
		say fail names_rows "$why"
	fi
else
	say skip stacks "python3 has no ctypes"
fi
exit $failed
