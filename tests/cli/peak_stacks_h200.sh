cd $DATA && gpuprof peak --top 5 h200_gpt_stacks.gpr
