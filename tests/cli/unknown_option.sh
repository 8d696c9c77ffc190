gpuprof info --jsn run.gpr
