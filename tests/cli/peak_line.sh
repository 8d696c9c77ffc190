cd $DATA && gpuprof peak --by line --of allocated --top 1 fake-held.gpr
