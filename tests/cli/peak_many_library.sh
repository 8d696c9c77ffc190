cd $DATA && gpuprof peak --library cuBLAS h200_gpt_stacks.gpr fake-held.gpr
