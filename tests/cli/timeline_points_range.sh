gpuprof timeline --points 3 run.gpr
