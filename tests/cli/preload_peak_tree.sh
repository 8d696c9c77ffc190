export LD_LIBRARY_PATH=$BUILD/fake
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_STACKS=all python3 -B $DATA/../stacks/operators.py
alike() { mask classes | grep -v -E "nothing lost|GPU 0"; }
for columns in 60 100 200; do
	COLUMNS=$columns gpuprof peak --tree --of allocated x.gpr | alike
done
gpuprof peak --tree --native --of allocated x.gpr |
	grep -o -E "_call_impl|redispatch|empty_memory_format|empty_cuda" |
	sort |
	uniq
