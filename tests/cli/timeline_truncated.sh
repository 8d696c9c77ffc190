head -c 20000 $DATA/fake-training.gpr >cut.gpr
gpuprof timeline --csv --points 16 cut.gpr
