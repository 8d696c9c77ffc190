cd $DATA && gpuprof diff fake-held.gpr h200_calls.gpr
