cd $DATA
gpuprof diff fake-held.gpr none.gpr
