cd $DATA && gpuprof dump --json --kind alloc --limit 3 fake-training.gpr
