gpuprof timeline --columns 10 run.gpr
