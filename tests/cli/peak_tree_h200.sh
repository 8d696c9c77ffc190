cd $DATA && gpuprof peak --tree h200_gpt_stacks.gpr
