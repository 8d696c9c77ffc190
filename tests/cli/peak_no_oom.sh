cd $DATA && gpuprof peak --at oom fake-held.gpr fake-training.gpr
