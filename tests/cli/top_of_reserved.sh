gpuprof top --of reserved $DATA/fake-held.gpr
