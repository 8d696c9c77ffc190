gpuprof xylophone
