export LD_LIBRARY_PATH=$BUILD/fake
for start in off on; do
	gpuprof run -q --start=$start -o $start.gpr -- $BUILD/victims/leak_two
	gpuprof dump --json --kind alloc $start.gpr | grep -c .
done
