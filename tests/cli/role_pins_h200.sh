cd $DATA &&
	gpuprof frag --by role --top 12 h200_gpt_oom.gpr | sed -n '/^pinning/,/more/p' &&
	gpuprof frag --by role --json --no-stacks --top 2 h200_gpt_oom.gpr |
	sed -n '/"groups"/,/\]/p; /"pins"/,/\]/p' &&
	gpuprof leaks --by role leak_kv_cache.gpr &&
	gpuprof leaks --by role --json --no-stacks leak_kv_cache.gpr | grep -A 2 '"groups"' &&
	gpuprof leaks --by role leak_loss_list.gpr | grep role
gpuprof leaks --by line leak_loss_list.gpr
