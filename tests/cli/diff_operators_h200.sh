cd $DATA &&
	gpuprof diff --of allocated --by operator --top 6 h200_gpt_stacks.gpr h200_inductor.gpr |
	sed -n "/each at/,\$p"
