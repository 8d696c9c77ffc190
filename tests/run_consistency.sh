#!/bin/sh
# Compares every figure that two commands print, over all recordings: consistency/compare_figures.py
#   run_consistency.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/consistency
results=${RESULTS:-$dir/results}
mkdir -p "$dir"

if ! python3 -c 'import json' 2>/dev/null; then
	echo "skip consistency/figures no python3" >>"$results"
	exit 0
fi
if python3 -B "$here/consistency/compare_figures.py" "$build/gpuprof" "$here/data" >"$dir/out" 2>&1
then
	echo "pass consistency/figures" >>"$results"
	tail -n 1 "$dir/out"
	exit 0
fi
echo "fail consistency/figures (see $dir/out)" >>"$results"
cat "$dir/out"
exit 1
