export LD_LIBRARY_PATH=$BUILD/fake
for o in "-c cudaProfilerApi" "-c ctl" "--delay=100" "-c nvtx:train" "-c step:3-4"; do
	gpuprof run -o x.gpr $o -- $BUILD/victims/leak_two 2>&1 |
		sed -n "s/.*, \(nothing captured.*\))/\1/p; s/.*peaks, //p"
	gpuprof info x.gpr | sed -n "1s/.*; //p; /^captured/p"
	rm x.gpr
done
GPUPROF_DELAY=soon LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=y.gpr $BUILD/victims/leak_two
GPUPROF_START=off GPUPROF_DURATION=1 LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=z.gpr \
	$BUILD/victims/leak_two
