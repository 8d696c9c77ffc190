cd $DATA && gpuprof info fake-training.gpr
