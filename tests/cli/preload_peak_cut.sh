export LD_LIBRARY_PATH=$BUILD/fake
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_STACKS=all GPUPROF_STACK_DEPTH=3 \
	python3 -B $DATA/../stacks/operators.py
COLUMNS=100 gpuprof peak --tree --of allocated x.gpr |
	mask classes |
	grep -v -E "nothing lost|GPU 0"
gpuprof peak --of allocated x.gpr | grep -c "(deeper frames are left out)$"
gpuprof peak --native --tree --of allocated x.gpr | grep -o "... deeper.*"
