cd $DATA && gpuprof top fake-held.gpr
