cd $DATA && gpuprof top --by node h200_gpt_stacks.gpr
