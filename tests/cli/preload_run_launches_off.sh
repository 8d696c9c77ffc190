export LD_LIBRARY_PATH=$BUILD/fake
for l in off on; do
	gpuprof run -q --launches=$l -o $l.gpr -- $BUILD/victims/training_loop 2
	gpuprof dump --json --kind launch $l.gpr | grep -c .
	gpuprof dump --json --kind block_alloc $l.gpr | grep -c .
done
