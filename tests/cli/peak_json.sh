cd $DATA && gpuprof peak --json --top 1 --of allocated fake-held.gpr
