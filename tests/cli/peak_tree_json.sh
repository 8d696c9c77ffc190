cd $DATA && gpuprof peak --json --tree --by kind --of allocated fake-held.gpr
