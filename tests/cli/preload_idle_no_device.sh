export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/idle_buffers 2 &&
	gpuprof idle --device 7 a.gpr
