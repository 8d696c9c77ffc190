LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_RING=0 GPUPROF_OUTPUT=$PWD/live.gpr \
	$BUILD/victims/thread_storm 100000000 4 >/dev/null &
job=$!
until gpuprof info live.gpr 2>/dev/null | grep -q "[2-9] threads"; do
	kill -0 $job || exit
done
i=0
while [ $i -lt 8 ]; do
	gpuprof info live.gpr | grep -o -E "job is running|[0-9,]+ anomal.*"
	gpuprof verify live.gpr >/dev/null || echo "verify: $?"
	i=$((i + 1))
done | sort | uniq -c | sed 's/^ *//'
kill -9 $job
wait $job 2>/dev/null
gpuprof info --json live.gpr | grep -E '"(complete|anomalies)"'
