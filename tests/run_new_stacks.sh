#!/bin/sh
# A job in which every allocation has a new stack, until the table of stacks is full. Memory must
# stay within its bound, each event must be recorded, and each stack must be whole or counted as
# left out.
#   run_new_stacks.sh BUILD (FULL=1: 10,000 a second for a minute)
build=$(cd "$1" && pwd) || exit 2
work=$build/run/new_stacks
mkdir -p "$work"
results=${RESULTS:-$work/results}
number=90000 each_ns=30000
[ -z "$FULL" ] || number=600000 each_ns=100000
# added to a recording without stacks: 32 MiB of entries, 8 of their index, 3 of a thread's memo,
# and unwind rules
bound_kib=49152

# peak NAME STACKS NUMBER: the most KiB that the job had
peak() {
	python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("/dev/null", "w")).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$build/libgpuprof.so" \
		GPUPROF_OUTPUT="$work/$1.gpr" GPUPROF_STACKS="$2" \
		"$build/victims/ever_new_stacks" "$3" "$each_ns" 2>"$work/$1.err"
}

judge() {
	"$build/gpuprof" info --json "$work/new.gpr" >"$work/new.info" || return 1
	python3 - "$work/new.info" "$number" $((with - without)) "$bound_kib" <<'END' || return 1
import json, sys
info, (number, kib, bound) = json.load(open(sys.argv[1])), map(int, sys.argv[2:])
stacks, lost = info["stacks"], info["lost"]["memory"]
different, left_out = stacks["different"], stacks["events_without_room"]
print("%d stacks in %.1f s: %d kept, %d left out, %d events lost, %d KiB" % (
    number, info["duration_ns"] / 1e9, different, left_out, lost, kib))
# one of the different stacks stands for all that were left out
sys.exit(not (info["complete"] and info["events"]["alloc"] + lost >= number and
              different - 1 + left_out + lost >= number and different > 40000 and
              left_out > 1000 and kib <= bound))
END
	grep -q "no room for more stacks" "$work/new.err"
}

rm -f "$work"/*.gpr
without=$(peak off off 20000) && with=$(peak new native "$number") && why=$(judge)
if [ $? -eq 0 ]; then
	echo "pass new_stacks/bounded $why" >>"$results"
	rm -f "$work"/*.gpr
else
	echo "fail new_stacks/bounded $why $(cat "$work/new.err")" | tee -a "$results"
	exit 1
fi
