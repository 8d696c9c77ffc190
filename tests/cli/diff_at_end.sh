cd $DATA &&
	gpuprof diff --at end --by line --of allocated --top 3 h200_gpt_stacks.gpr h200_ddp.gpr |
	sed -n "/GPU 0/,\$p"
