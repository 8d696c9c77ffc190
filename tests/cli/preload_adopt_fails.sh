mkdir rings d e
export GPUPROF_RING_DIR=$PWD/rings
(
	ulimit -c 0
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/d/a.gpr \
		$BUILD/victims/abort_midway
)
mv d/a.gpr e/b.gpr
ln -s ../e/b.gpr d/a.gpr
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q -o o.gpr -- $BUILD/victims/leak_two
gpuprof info --json o.gpr 2>&1 |
	grep -E "^gpuprof|^hint|complete" |
	sed "s/ring-[0-9-]*/ring/; s/process [0-9]*/process N/"
ls rings | wc -l
gpuprof info --json e/b.gpr 2>&1 | grep -E "^gpuprof|^hint|complete"
ls rings
