cd $DATA &&
	gpuprof phases h200_gpt_stacks.gpr &&
	gpuprof phases --recorded-only h200_gpt_stacks.gpr | sed -n 2p &&
	gpuprof phases --frames h200_clean_compile.gpr | tail -4 &&
	gpuprof phases h200_cupy.gpr &&
	gpuprof phases --json h200_libraries.gpr |
	grep -E '"(calls|name|source|style|shown|none|unclear|bare_launches)":' &&
	gpuprof phases --json --recorded-only h200_libraries.gpr | grep '"frames"'
gpuprof phases --frames --recorded-only h200_libraries.gpr
