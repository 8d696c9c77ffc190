gpuprof peak missing.gpr $DATA/fake-held.gpr
