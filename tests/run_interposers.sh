#!/bin/sh
# Another preload before and behind the recorder: the job's output, the recording and the other
# preload's counts must all be right.
#   run_interposers.sh BUILD
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/interposers
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2
ours=$build/libgpuprof.so
other=$build/fake/other_interposer.so

# run PRELOAD COUNT VICTIM ARGUMENTS...: with a recording if PRELOAD has the recorder
run() {
	preload=$1 count=$2 victim=$3
	shift 3
	timeout -k 5 240 env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$preload" \
		OTHER_COUNT="$count" VICTIM_CLAIMS="$dir/claims" GPUPROF_OUTPUT="$dir/%p-%t.gpr" \
		"$build/victims/$victim" "$@" 2>&1
	echo $?
}

# judge: leaves `why` empty when all is as expected
judge() {
	why=
	if ! cmp -s bare.out alone.out; then
		why="the other preload alone does harm here"
	elif ! cmp -s bare.out recorded.out; then
		why="output changed: $(diff bare.out recorded.out | head -n 3 | tr '\n' ';')"
	elif ! cmp -s alone count; then
		why="the other counted $(cat count), alone $(cat alone)"
	elif ! "$build/storm/expect" claims ./*.gpr >verdict 2>&1; then
		why=$(head -n 3 verdict | tr '\n' ';')
	fi
}

# one NAME PRELOAD VICTIM
one() {
	run "" none "$3" >bare.out
	run "$other" alone "$3" >alone.out
	rm -f claims count verdict ./*.gpr
	run "$2" count "$3" >recorded.out
	judge
	if [ -z "$why" ]; then
		echo "pass interposers/$1" >>"$results"
	else
		echo "fail interposers/$1 $why" | tee -a "$results"
		failed=1
	fi
}

for victim in leak_two training_loop; do
	one "above_$victim" "$other:$ours" $victim
	one "below_$victim" "$ours:$other" $victim
done
exit $failed
