gpuprof dump --limit
