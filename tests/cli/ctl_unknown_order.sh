gpuprof ctl 1 stpo
