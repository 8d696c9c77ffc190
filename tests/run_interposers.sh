#!/bin/sh
# Another preload above us and below us: the job's output, our recording and the other's counts are all right.
# run_interposers.sh BUILD
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/interposers
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2
ours=$build/libgpuprof.so
other=$build/fake/other_interposer.so

# one NAME PRELOAD VICTIM ARGUMENTS...
one() {
	name=$1 preload=$2 victim=$3
	shift 3
	rm -f claims count ./*.gpr
	LD_LIBRARY_PATH=$build/fake timeout -k 5 60 "$build/victims/$victim" "$@" >bare.out 2>&1
	echo $? >>bare.out
	timeout -k 5 60 env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$other" OTHER_COUNT=alone "$build/victims/$victim" "$@" \
		>alone.out 2>&1
	echo $? >>alone.out
	timeout -k 5 60 env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$preload" OTHER_COUNT=count VICTIM_CLAIMS="$dir/claims" \
		GPUPROF_OUTPUT="$dir/%p-%t.gpr" "$build/victims/$victim" "$@" >recorded.out 2>&1
	echo $? >>recorded.out
	if ! cmp -s bare.out alone.out; then
		why="the other preload alone does harm here"
	elif ! cmp -s bare.out recorded.out; then
		why="output changed: $(diff bare.out recorded.out | head -n 3 | tr '\n' ';')"
	elif ! cmp -s alone count; then
		why="the other counted $(cat count), alone $(cat alone)"
	elif ! "$build/storm/expect" claims ./*.gpr >verdict 2>&1; then
		why=$(head -n 3 verdict | tr '\n' ';')
	else
		echo "pass interposers/$name" >>"$results"
		return
	fi
	echo "fail interposers/$name $why" | tee -a "$results"
	failed=1
}

for victim in leak_two training_loop; do
	one "above_$victim" "$other:$ours" $victim
	one "below_$victim" "$ours:$other" $victim
done
exit $failed
