cp $DATA/fake-training.gpr a.gpr
cp a.gpr b.gpr
gpuprof info a.gpr b.gpr
