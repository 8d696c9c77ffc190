cd $DATA &&
	gpuprof diff --json --of allocated --by library --top 1 h200_gpt_stacks.gpr \
		h200_libraries.gpr |
	grep -v \"stack\"
