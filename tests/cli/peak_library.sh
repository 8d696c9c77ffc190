cd $DATA && gpuprof peak --of allocated --library python --by library fake-held.gpr
