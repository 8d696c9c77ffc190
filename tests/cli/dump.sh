cd $DATA && gpuprof dump --limit 12 fake-training.gpr
