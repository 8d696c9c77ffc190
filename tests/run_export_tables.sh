#!/bin/sh
# Reads databases and CSV files of `gpuprof export` with modules of Python
# (tests/export/check_tables.py): of the recordings in tests/data, and of one with GPU time.
#   run_export_tables.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/export_tables
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2
if ! python3 -c 'import sqlite3' 2>/dev/null; then
	echo "skip export_tables/python no python3 with sqlite3" >>"$results"
	exit 0
fi
# check PART: every second recording; PART is 0 or 1
check() {
	mkdir "$1"
	cd "$1" || exit 2
	set --
	for recording in "$here"/data/*.gpr "$here"/data/gpu_time/*.gpr; do
		part=$((1 - ${part:-1}))
		[ $part != "${PWD##*/}" ] || set -- "$@" "$recording"
	done
	python3 -B "$here/export/check_tables.py" "$build/gpuprof" "$build/frag/made_gpu_time" \
		"$@" >found 2>errors || echo "fail checker $(tail -n 1 errors)" >>found
}
(check 0) &
(check 1)
wait
cat 0/found 1/found >found
LD_LIBRARY_PATH=$build/fake/torch-2.11/lib:$build/fake "$build/gpuprof" run -q \
	--allocator-details=on --no-symbolize --stacks off -o pending.gpr \
	-- "$build/victims/other_streams" >run.out 2>&1
if "$build/gpuprof" export --format csv --select groups -o - pending.gpr | grep -q ',pending,'; then
	echo "pass pending"
else
	echo "fail pending no group of pending blocks"
fi >>found
sed 's,^\([a-z]*\) ,\1 export_tables/,' found >>"$results"
! grep '^fail' found
