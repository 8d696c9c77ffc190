#!/bin/sh
# Checks the traces of `gpuprof export` (perfetto, chrome) with readers of their own against what
# the other commands print: recordings in tests/data, several in one trace, pieces, and GPU time.
#   run_export_trace.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/export_trace
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2

say() {
	echo "$1 export_trace/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || : >failed
}
python3 -c 'import json' 2>/dev/null || { say skip python "no python3"; exit 0; }

# facts NAME RECORDING ARGUMENT...: what the other commands print
facts() {
	of=$1 from=$2
	shift 2
	"$build/gpuprof" info --json "$from" >"$of.info"
	"$build/gpuprof" dump --json "$@" "$from" >"$of.events"
	"$build/gpuprof" timeline --json "$@" "$from" >"$of.timeline"
	"$build/gpuprof" phases --json "$@" "$from" >"$of.phases"
	"$build/gpuprof" kernels --json "$@" "$from" >"$of.kernels"
} 2>/dev/null

# judge NAME ARGUMENT...: of the checker
judge() {
	judged=$1
	shift
	if python3 "$here/export/check_trace.py" "$@" >"$judged.out" 2>&1; then
		say pass "$judged"
	else
		say fail "$judged" "$(tail -n 1 "$judged.out" | cut -c1-200)"
	fi
}

# check PROGRAM NAME RECORDING ARGUMENT...: both formats
check() {
	program=$1 name=$2 recording=$3
	shift 3
	facts "$name" "$recording" "$@"
	for format in perfetto:pftrace chrome:json; do
		"$program" export --format ${format%:*} "$@" -o "$name.${format#*:}" \
			"$recording" 2>"$name.${format%:*}.err"
		status=$?
		[ $status = 0 ] || [ $status = 3 ] ||
			say fail "$name" "$format: $status: $(head -n 1 "$name.${format%:*}.err")"
	done
	judge "$name" "$name"
}

# Of a large recording only the beginning is read: Python is slow.
check_data() {
	name=$(basename "$1" .gpr)
	last=$("$build/gpuprof" dump --json --bare --limit 2000 "$1" 2>/dev/null |
		sed -n '2000s/.*"at_ns": \([0-9]*\).*/\1/p')
	check "$build/gpuprof" "$name" "$1" ${last:+--to "$last"}
}

data=$TEST_DATA
set -- "${data:-$here/data}"/*.gpr
for way in 0 1; do
	(
		number=0
		for recording; do
			[ $((number % 2)) != $way ] || check_data "$recording"
			number=$((number + 1))
		done
	) &
done
wait

check "$build/gpuprof" span "$here/data/h200_gpt_graph.gpr" --from 500ms --to 700ms

# several recordings in one trace
set --
for rank in 0 1 2; do
	"$build/gpuprof" export --format perfetto -o alone-$rank.pftrace \
		"$here/data/ranks/rank-$rank.gpr" 2>/dev/null
	set -- "$@" "$here/data/ranks/rank-$rank.gpr"
done
"$build/gpuprof" export --format perfetto -o together.pftrace "$@" 2>/dev/null
judge ranks --ranks together.pftrace alone-0.pftrace alone-1.pftrace alone-2.pftrace

# pieces of 100 kB, each of which can be read alone
check "$build/export/gpuprof_pieces" pieces "$here/data/fake-ranges.gpr" --to 300ms
[ -e pieces-3.pftrace ] && [ -e pieces-3.json ] ||
	say fail pieces "there are no three pieces"

# kernels, copies and sets with their calls
LD_LIBRARY_PATH=$build/fake GPUPROF_RING_DIR=$dir "$build/gpuprof" run -q --gpu-time \
	--stacks python -o gpu.gpr -- python3 -B "$here/cli/gpu_job.py" await >gpu.err 2>&1
check "$build/gpuprof" gpu gpu.gpr

# ranges on the rows of streams; h100_eager is PyTorch's training loop on a GPU
cp "$here/data/gpu_time/h100_eager.gpr" .
for how in "" started crossed nccl h100_eager; do
	name=made${how:+-$how}
	[ "$how" != h100_eager ] || name=$how
	[ -e $name.gpr ] || "$build/frag/made_gpu_time" $name.gpr $how
	for table in kernels ranges; do
		"$build/gpuprof" export --format csv --select $table -o $name.$table.csv $name.gpr
	done 2>$name.err
	"$build/gpuprof" stats -r nvtx_gpu_proj_trace --format csv $name.gpr >$name.projected
	check "$build/gpuprof" $name $name.gpr
	judge $name-annotations --annotations $name
done
[ ! -e failed ]
