gpuprof dump --from noon $DATA/fake-training.gpr
