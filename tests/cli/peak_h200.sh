cd $DATA && gpuprof peak h200_gpt_oom.gpr
