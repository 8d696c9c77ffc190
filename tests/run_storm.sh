#!/bin/sh
# Kills a recording process KILLS times.  run_storm.sh BUILD KILLS [SEED]
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/storm
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"
if "$build/storm/storm" "$build" "$dir" "$2" $3 >"$dir/log" 2>&1; then
	echo "pass storm/sigkill" >>"$results"
else
	echo "fail storm/sigkill (see $dir)" >>"$results"
	failed=1
fi
grep '^not so' "$dir/log" | head -n 8
tail -n 1 "$dir/log"
exit ${failed:-0}
