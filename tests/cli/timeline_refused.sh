gpuprof timeline $DATA/h200_gpt_oom.gpr $DATA/h200_mlp.gpr
