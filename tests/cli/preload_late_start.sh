LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_START=off GPUPROF_OUTPUT=$PWD/s.gpr \
	$BUILD/victims/training_loop 20 200 >/dev/null &
job=$!
until gpuprof ctl $job start >/dev/null 2>ctl.err; do kill -0 $job || exit; done
wait $job
gpuprof info s.gpr | sed -n '1s/.*; recording began at [0-9.]* m*s/recording began/p'
gpuprof timeline s.gpr | grep -o "peak at least"
gpuprof timeline --json s.gpr | grep -oE '"peaks_since_start": .*'
gpuprof info --json s.gpr | grep -cE '"gaps": \[[0-9]+\]'
