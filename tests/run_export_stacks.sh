#!/bin/sh
# Checks what `gpuprof export` writes as pprof, folded and speedscope with readers of its own
# (tests/export/check_stacks.py), against the figures that the commands print with --json.
#   run_export_stacks.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/export_stacks
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"

python3 -c 'import json' 2>/dev/null || {
	echo "skip export_stacks/python no python3" >>"$results"
	exit 0
}
python3 -B "$here/export/check_stacks.py" "$build/gpuprof" "$build/frag/made_gpu_time" \
	"$here/data" "$dir" >"$dir/out" 2>&1 ||
	echo "fail all: $(tail -n 1 "$dir/out")" >>"$dir/out"
sed -n 's/^\(pass\|fail\) /\1 export_stacks\//p' "$dir/out" >>"$results"
! grep '^fail' "$dir/out"
