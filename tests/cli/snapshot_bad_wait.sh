gpuprof snapshot --wait 0 1
