# no memory for a thread's table of modules: events keep their stacks, and the loss is counted
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=both --memory 8M -o x.gpr -- \
	python3 -B $DATA/../stacks/module_story.py expected 2 plain
gpuprof info x.gpr | grep "^stacks"
gpuprof info --json x.gpr | grep -o '"modules_without_room": [0-9]*'
gpuprof peak --by module --of allocated x.gpr | sed '1d; s|, [0-9.]* ms$||'
