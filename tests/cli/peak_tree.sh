cd $DATA && gpuprof peak --tree fake-held.gpr
