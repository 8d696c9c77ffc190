mkdir rings d
export GPUPROF_RING_DIR=$PWD/rings
(
	ulimit -c 0
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/d/a.gpr \
		$BUILD/victims/abort_midway
)
ls rings | wc -l
gpuprof peak $DATA/fake-training.gpr 2>&1 >/dev/null | wc -l
ls rings | wc -l
gpuprof info --json d/a.gpr | grep complete
