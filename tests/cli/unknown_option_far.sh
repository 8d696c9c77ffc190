gpuprof info --xylophone run.gpr
