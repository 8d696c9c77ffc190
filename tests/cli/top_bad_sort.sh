gpuprof top --sort bites $DATA/fake-held.gpr
