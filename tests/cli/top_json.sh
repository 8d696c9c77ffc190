cd $DATA && gpuprof top --json --by line --of driver fake-held.gpr
