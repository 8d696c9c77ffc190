cd $DATA && gpuprof phases fake-ranges.gpr
