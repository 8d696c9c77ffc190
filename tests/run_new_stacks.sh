#!/bin/sh
# Jobs in which every allocation has a new stack, or a new module of PyTorch, until the table of
# stacks is full. Memory must stay within its bound, each event must be recorded, and each stack
# must be whole or counted as left out.
#   run_new_stacks.sh BUILD (FULL=1: 10,000 stacks a second for a minute, a million modules)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)/stacks
work=$build/run/new_stacks
mkdir -p "$work"
results=${RESULTS:-$work/results}
number=90000 each_ns=30000 models=300
[ -z "$FULL" ] || number=600000 each_ns=100000 models=2500
# added to a recording without stacks: 32 MiB of entries, 8 of their index, 3 of a thread's memo,
# and unwind rules
bound_kib=49152
many_kib=24576
many_ns=100000 # added to the call of a module

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

# many KIND MODELS CHILDREN: nanoseconds of a call, and the most KiB
many() {
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_RING=0 \
		GPUPROF_OUTPUT=$work/$1-$3.gpr GPUPROF_STACKS=python GPUPROF_MEMORY=24M \
		python3 -B "$here/many_modules.py" "$@"
}

# judge_many MODELS CHILDREN: a name is right or left out, and what is left out is counted
judge_many() {
	modules=$work/module-$2
	plain=$(many plain "$1" "$2") && with=$(many module "$1" "$2") || return 1
	"$build/gpuprof" info --json "$modules.gpr" >"$modules.info" &&
		"$build/gpuprof" dump --json --kind block_alloc "$modules.gpr" >"$modules.dumped" ||
		return 1
	# shellcheck disable=SC2086 # two words each
	python3 - "$modules" $(($1 * $2)) "$many_ns" "$many_kib" $plain $with <<'END'
import json, sys
number, bound_ns, bound_kib, plain_ns, plain_kib, ns, kib = map(int, sys.argv[2:])
info, named, blocks = json.load(open(sys.argv[1] + ".info")), set(), 0
for event in map(json.loads, open(sys.argv[1] + ".dumped")):
    blocks += 1
    name = event.get("torch_module") or ""
    if name.startswith("part_"):
        named.add(name)
        if event["bytes"] != 512 * (int(name.split("_")[2]) % 8 + 1):
            sys.exit("%d bytes of %s" % (event["bytes"], name))
left_out, lost = info["stacks"]["modules_without_room"], info["lost"]["memory"]
print("%d modules: %d named, %d left out, %d events lost, %d KiB and %d ns a call more" % (
    number, len(named), left_out, lost, kib - plain_kib, ns - plain_ns))
sys.exit(not (info["complete"] and blocks + lost == number and
              len(named) + left_out + lost >= number and min(len(named), left_out) > 100 and
              kib - plain_kib <= bound_kib and ns - plain_ns <= bound_ns))
END
}

failed=0
case $(python3 -c 'import ctypes, sys; print("%d.%d" % sys.version_info[:2])') in
3.[89] | 3.1[0-3]) ;;
*)
	echo "skip new_stacks/modules python3 has no ctypes, or it is too new" >>"$results"
	exit 0
	;;
esac
# many small models, then large dictionaries
for shape in "$models 400" "3 40000"; do
	# shellcheck disable=SC2086 # two words
	if why=$(judge_many $shape 2>&1); then
		echo "pass new_stacks/modules_$(echo $shape | tr ' ' x) $why" >>"$results"
		rm -f "$work"/*.gpr "$work"/*.dumped
	else
		echo "fail new_stacks/modules_$(echo $shape | tr ' ' x) $why" | tee -a "$results"
		failed=1
	fi
done
exit $failed
