head -c 20000 $DATA/fake-training.gpr >cut.gpr
gpuprof verify cut.gpr
