cd $DATA && gpuprof export --format torch --device 3 fake-held.gpr
