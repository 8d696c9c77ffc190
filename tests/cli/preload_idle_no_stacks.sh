export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/idle_buffers &&
	gpuprof idle a.gpr | grep -A2 "of one size"
