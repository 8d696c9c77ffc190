mkdir rings e
export GPUPROF_RING_DIR=$PWD/rings LD_LIBRARY_PATH=$BUILD/fake
(
	ulimit -c 0
	LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/a.gpr $BUILD/victims/abort_midway
)
gpuprof run -q -o o.gpr -- $BUILD/victims/leak_two
mv a.gpr e
gpuprof info e/a.gpr | sed -n "/^rest/,/again/p" | sed "s/-[0-9][-0-9]*/-N/"
mv gpuprof-ring-* e
gpuprof info e/a.gpr | grep -c "nothing lost, 1 device$"
ls rings e
