export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=python -o x.gpr -- $BUILD/victims/leak_two
for r in "peak" "peak --by line" "peak --tree" "top"; do
	gpuprof $r x.gpr | grep -o "no Python.*"
done
gpuprof peak --json x.gpr | grep -o '"why": "[^"]*"'
