cp $DATA/fake-training.gpr a.gpr
gpuprof info a.gpr nowhere.gpr
