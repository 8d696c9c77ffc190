export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/idle_buffers &&
	gpuprof idle --json --top 1 a.gpr | mask json_times
