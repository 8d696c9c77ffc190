cd $DATA && gpuprof peak fake-held.gpr
