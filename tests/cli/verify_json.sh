cd $DATA && gpuprof verify --json fake-training.gpr
