head -c 4500 $DATA/fake-training.gpr >cut.gpr
gpuprof timeline cut.gpr 2>/dev/null | tail -n 2
