cd $DATA && gpuprof peak --library cuDNN h200_gpt_stacks.gpr 2>&1 | tail -n 2
