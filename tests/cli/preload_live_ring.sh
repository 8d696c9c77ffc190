LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_RING=1M GPUPROF_OUTPUT=$PWD/live.gpr \
	$BUILD/victims/training_loop 100000 0 >/dev/null &
job=$!
until gpuprof info live.gpr 2>/dev/null | grep -q "single events from"; do
	kill -0 $job || exit
done
rounds=10 i=0
[ -z "$FULL" ] || rounds=25
while [ $i -lt $rounds ]; do
	for c in info "timeline --json" verify "dump --limit 20000"; do
		gpuprof $c live.gpr >out 2>err || {
			echo "$c: status $?"
			head -n 1 err
		}
	done
	i=$((i + 1))
done
kill -9 $job
wait $job 2>/dev/null
gpuprof info live.gpr >/dev/null && echo "the last read"
