mkdir rings e
export GPUPROF_RING_DIR=$PWD/rings LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o o.gpr -- $BUILD/victims/leak_two
(
	ulimit -c 0
	LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/a.gpr $BUILD/victims/abort_midway
)
mv a.gpr e/b.gpr
gpuprof info --json o.gpr 2>&1 | grep -E "gpuprof:|complete"
ls rings | wc -l
gpuprof info --json e/b.gpr 2>&1 | grep -E "gpuprof:|complete"
gpuprof verify e/b.gpr >/dev/null && ls rings
