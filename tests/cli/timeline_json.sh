cd $DATA && gpuprof timeline --json --points 16 fake-training.gpr
