cd $DATA && gpuprof timeline --svg --points 16 fake-training.gpr
