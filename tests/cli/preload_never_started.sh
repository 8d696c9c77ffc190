export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --start=off -o x.gpr -- $BUILD/victims/leak_two
for c in info timeline "timeline --svg"; do
	gpuprof $c x.gpr |
		grep -oE "nothing lost|no GPU activity was recorded|no memory events to show"
done
gpuprof run --start=off -o y.gpr -- $BUILD/victims/leak_two 2>&1 |
	grep -E "^gpuprof: (rec|peaks)" |
	mask numbers
