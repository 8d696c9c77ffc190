cd $DATA && gpuprof peak --device 3 fake-held.gpr
