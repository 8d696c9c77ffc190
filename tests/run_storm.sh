#!/bin/sh
# Kills a recording process. `sigkill`: KILLS times at random moments. `kill_points`: before, in the
# middle of and after its first 40 writes to the recording; with STEP only at each STEP-th of these
# 120 moments. Each with and without a flight recorder.
#   run_storm.sh BUILD sigkill KILLS [SEED] | run_storm.sh BUILD kill_points STEP
build=$(cd "$1" && pwd) || exit 2
name=$2
dir=$build/run/$name
results=${RESULTS:-$dir/results}
shift 2
[ "$name" != kill_points ] || set -- writes "$@"
rm -rf "$dir"
mkdir -p "$dir"
# rings of its own: otherwise another gpuprof of this user could be in the middle of adopting them
GPUPROF_RING_DIR=$(mktemp -d /dev/shm/gpuprof-storm.XXXXXX) || exit 2
export GPUPROF_RING_DIR
trap 'rm -rf "$GPUPROF_RING_DIR"' EXIT
if "$build/storm/storm" "$build" "$dir" "$@" >"$dir/log" 2>&1; then
	echo "pass storm/$name" >>"$results"
else
	echo "fail storm/$name (see $dir)" >>"$results"
	failed=1
fi
grep '^not so' "$dir/log" | head -n 8
tail -n 1 "$dir/log"
exit ${failed:-0}
