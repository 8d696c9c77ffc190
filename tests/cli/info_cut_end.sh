head -c -20 $DATA/fake-training.gpr >cut.gpr
gpuprof info cut.gpr
