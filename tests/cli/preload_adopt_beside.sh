mkdir d
(
	ulimit -c 0
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_RING_DIR=$PWD/none \
		GPUPROF_OUTPUT=$PWD/d/a.gpr $BUILD/victims/abort_midway
)
ls d | sed "s/-[0-9].*//"
gpuprof info --json d/a.gpr | grep complete
ls d
