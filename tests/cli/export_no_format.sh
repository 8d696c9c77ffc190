gpuprof export $DATA/fake-held.gpr
