gpuprof doctor me
