gpuprof peak --of alocated $DATA/fake-held.gpr
