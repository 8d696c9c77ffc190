gpuprof help
