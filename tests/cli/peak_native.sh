cd $DATA && gpuprof peak --native --of allocated --top 1 fake-held.gpr
