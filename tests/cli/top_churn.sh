cd $DATA && gpuprof top --sort churn --by line --of allocated fake-held.gpr
