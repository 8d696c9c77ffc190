cd $DATA &&
	gpuprof check --max-peak 2G --max-reserved 2G --max-allocated 1300M --max-frag 20% \
		--min-headroom 90% h200_gpt_stacks.gpr
