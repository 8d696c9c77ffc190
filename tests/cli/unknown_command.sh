gpuprof timelin
