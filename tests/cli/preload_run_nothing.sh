export LD_LIBRARY_PATH=$BUILD/fake
said() { grep -E "^gpuprof: |^hint"; }
gpuprof run -- true 2>&1 | said
gpuprof run -o no/x.gpr -- $BUILD/victims/leak_two 2>&1 | said
gpuprof run -o $(printf "%0300d" 0) -- $BUILD/victims/leak_two 2>&1 | said | sed s/000*/N/
for off in off 0 No FALSE; do
	GPUPROF=$off gpuprof run -- $BUILD/victims/leak_two 2>&1 | said
done
ls -A
