cd $DATA && gpuprof oom --top 3 h200_gpt_oom.gpr
