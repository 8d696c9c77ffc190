cd $DATA && gpuprof peak --at 13.7ms fake-held.gpr
