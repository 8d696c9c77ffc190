# memory of the backward pass by the module whose forward made the node; else how to record it
# without the number of stacks, which depends on how the interpreter was built
plain() { sed 's/  *([0-9]* stacks*)$//'; }
run() {
	gpuprof run -q --force --stacks=both -o c.gpr "$@" -- python3 -B $CLI/backward_job.py said 5
	gpuprof dump --kind fact c.gpr | sed -n 's/.*fact key=128/fact 128/p'
	gpuprof dump --json --kind block_alloc c.gpr >dumped
	python3 $CLI/../stacks/compare_modules.py dumped said 100 2>&1 | head -n 1
	gpuprof info c.gpr | grep "^ranges"
	gpuprof peak --by module --of allocated --top 0 c.gpr | grep "no module" | plain
}
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
run --backward-modules
gpuprof peak --by module --of allocated --top 4 c.gpr | sed '1d; s/, [0-9.]* ms$//' | plain
gpuprof peak --by module --tree --of allocated c.gpr | grep "no module" | plain
run --backward-modules --torch-ranges=off
run
gpuprof peak --by module --tree --of allocated c.gpr | grep "no module" | plain
run --backward-modules --stacks=native
LD_LIBRARY_PATH=$BUILD/fake/torch-9.0/lib:$BUILD/fake
run --backward-modules
