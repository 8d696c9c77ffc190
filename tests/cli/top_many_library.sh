cd $DATA && gpuprof top --library cuBLAS h200_gpt_stacks.gpr fake-held.gpr
