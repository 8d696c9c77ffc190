cd $DATA && gpuprof timeline --device 7 fake-training.gpr
