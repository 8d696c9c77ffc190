gpuprof
