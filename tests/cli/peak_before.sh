cd $DATA && gpuprof peak --at 1us --of allocated fake-held.gpr
