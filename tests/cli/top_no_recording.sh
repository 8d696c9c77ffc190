gpuprof top
