cd $DATA && for by in operator node library line; do
	gpuprof peak --by $by --of allocated h200_gpt_stacks.gpr
done
