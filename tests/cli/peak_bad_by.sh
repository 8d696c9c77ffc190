gpuprof peak --by operater $DATA/fake-held.gpr
gpuprof peak --by phase $DATA/fake-held.gpr
