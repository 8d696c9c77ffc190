cd $DATA && gpuprof info --json fake-training.gpr
gpuprof info --json fake-killed.gpr | grep rest
