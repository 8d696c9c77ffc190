cd $DATA && gpuprof timeline --csv --points 16 fake-training.gpr
