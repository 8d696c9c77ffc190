#!/bin/sh
# Containers that share /dev/shm (--ipc=host) but not their pids: a recording process of another pid
# namespace is alive, although its number may be unused here. No process may adopt its rings.
#   run_namespaces.sh BUILD
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/namespaces
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir"
if ! unshare -rpf --mount-proc true 2>/dev/null; then
	echo "skip namespaces/shared_shm no pid namespaces of our own here" >>"$results"
	exit 0
fi
timeout -k 1 120 unshare -rpf --mount-proc env LD_LIBRARY_PATH="$build/fake" \
	LD_PRELOAD="$build/libgpuprof.so" \
	GPUPROF_OUTPUT="$dir/inside.gpr" "$build/victims/count_up" "$dir/page" 1 >"$dir/out" 2>&1 &
other=$!
# once it runs, its page has its pid and its recording grows
until [ -s "$dir/inside.gpr" ] || ! kill -0 $other 2>/dev/null; do
	sleep 0.1
done
echo "0 = recordings 0" >"$dir/claims"
why=
"$build/storm/expect" "$dir/claims" >"$dir/verdict" 2>&1 || why="judge failed"
grep -q "inside.gpr" "$dir/verdict" && why="a living process of another namespace was adopted"
kill -0 $other 2>/dev/null || why="the other namespace's job ended: $(tail -n 1 "$dir/out")"
[ -s "$dir/inside.gpr" ] || why="nothing was recorded inside"
kill $other 2>/dev/null
wait $other 2>/dev/null
if [ -z "$why" ]; then
	echo "pass namespaces/shared_shm" >>"$results"
else
	echo "fail namespaces/shared_shm $why (see $dir)" | tee -a "$results"
	exit 1
fi
