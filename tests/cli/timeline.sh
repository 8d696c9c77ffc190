cd $DATA && LC_ALL=C gpuprof timeline --columns 90 fake-training.gpr
