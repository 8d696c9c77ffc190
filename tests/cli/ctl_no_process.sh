gpuprof ctl 2147483647
