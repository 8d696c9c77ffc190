gpuprof verify $DATA/fake-training.gpr
