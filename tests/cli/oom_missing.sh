gpuprof oom missing.gpr
