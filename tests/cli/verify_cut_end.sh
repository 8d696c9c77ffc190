head -c -20 $DATA/fake-training.gpr >cut.gpr
gpuprof verify --repair clean.gpr cut.gpr
gpuprof verify clean.gpr && gpuprof dump --json clean.gpr >a
gpuprof dump --json $DATA/fake-training.gpr | cmp - a
