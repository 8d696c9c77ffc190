cd $DATA && LC_ALL=C gpuprof timeline --from 10ms --to 10.2ms --columns 60 fake-training.gpr
