head -c 20000 $DATA/fake-training.gpr >cut.gpr
gpuprof dump cut.gpr 2>&1 | tail -n 3
gpuprof dump cut.gpr >/dev/null 2>&1
