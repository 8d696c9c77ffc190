cd $DATA && gpuprof idle h200_gpt_oom.gpr
