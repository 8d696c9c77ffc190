gpuprof peak
