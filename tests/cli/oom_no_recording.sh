gpuprof oom
