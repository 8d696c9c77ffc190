gpuprof snapshot
