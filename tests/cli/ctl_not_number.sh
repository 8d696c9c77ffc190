gpuprof ctl python3
