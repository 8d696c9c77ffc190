cd $DATA && gpuprof diff h200_gpt_stacks.gpr h200_gpt_stacks.gpr
