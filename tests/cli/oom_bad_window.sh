gpuprof oom --window soon made.gpr
