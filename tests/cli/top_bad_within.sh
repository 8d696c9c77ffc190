gpuprof top --within soon $DATA/fake-held.gpr
