cd $DATA && gpuprof peak fake-held.gpr fake-training.gpr h200_gpt_eager.gpr h200_gpt_oom.gpr
