cd $DATA && gpuprof frag --top 3 h200_gpt_oom.gpr
