gpuprof dump --kind aloc $DATA/fake-training.gpr 2>&1 | cut -c -90
