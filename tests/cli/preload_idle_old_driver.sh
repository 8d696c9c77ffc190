export LD_LIBRARY_PATH=$BUILD/fake FAKE_CUDA_VERSION=12000
gpuprof run -q --track-access -o a.gpr -- $BUILD/victims/idle_buffers &&
	gpuprof idle a.gpr | sed 1d | mask program
