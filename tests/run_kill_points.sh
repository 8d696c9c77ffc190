#!/bin/sh
# Kills a recording process before, in the middle of and after its first 40 writes to the recording; with STEP
# only at each STEP-th of these 120 moments, each with and without a flight recorder.  run_kill_points.sh BUILD STEP
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/kill_points
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"
if "$build/storm/storm" "$build" "$dir" writes "$2" >"$dir/log" 2>&1; then
	echo "pass storm/kill_points" >>"$results"
else
	echo "fail storm/kill_points (see $dir)" >>"$results"
	failed=1
fi
grep '^not so' "$dir/log" | head -n 8
tail -n 1 "$dir/log"
exit ${failed:-0}
