#!/bin/sh
# Compares every figure that two commands print, with consistency/compare_figures.py. It takes all
# recordings of data/, some with OOMs of each kind (frag/made_oom), and one of a job that runs here,
# with the job's summary. --list prints the compared figures.
#   run_consistency.sh BUILD | --list
here=$(cd "$(dirname "$0")" && pwd)
compare="python3 -B $here/consistency/compare_figures.py"
[ "$1" != --list ] || exec $compare --list
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/consistency
made=$dir/made
kinds="beside cache capacity early fragmentation graph growth ipc leaking limit pages sleeping \
	stream two"
results=${RESULTS:-$dir/results}
exit_status=0
rm -rf "$made"
mkdir -p "$made"

make_recordings()
{
	cd "$made" || return 1
	for kind in $kinds
	do
		"$build/frag/made_oom" "$kind" "oom_$kind.gpr" \
			PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 || return 1
	done
	"$build/frag/made_gpu_time" gpu_time.gpr started || return 1
	LD_LIBRARY_PATH=$build/fake GPUPROF_STACKS=off "$build/gpuprof" run -o ran.gpr -- \
		python3 -B "$here/cli/leak_until_oom.py" 2>ran.run
}

if ! python3 -c 'import json' 2>/dev/null; then
	echo "skip consistency/figures no python3" >>"$results"
	exit 0
fi
if python3 -B "$here/consistency/check_glossary.py" "$here/.." >"$dir/glossary" 2>&1
then
	echo "pass consistency/glossary" >>"$results"
else
	echo "fail consistency/glossary (see $dir/glossary)" >>"$results"
	cat "$dir/glossary"
	exit_status=1
fi
if (make_recordings && $compare "$build/gpuprof" "$here"/data/*.gpr "$made"/*.gpr) >"$dir/out" 2>&1
then
	echo "pass consistency/figures" >>"$results"
	tail -n 1 "$dir/out"
	exit $exit_status
fi
echo "fail consistency/figures (see $dir/out)" >>"$results"
cat "$dir/out"
exit 1
