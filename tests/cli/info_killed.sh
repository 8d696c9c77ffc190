cd $DATA && gpuprof info fake-killed.gpr
