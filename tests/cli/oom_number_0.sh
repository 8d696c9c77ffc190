gpuprof oom --number 0 made.gpr
