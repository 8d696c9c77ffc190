gpuprof --version
