export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --no-symbolize --track-access --stacks=native -o a.gpr \
	-- $BUILD/victims/idle_buffers &&
	gpuprof idle a.gpr | sed 1d | mask times blanks
