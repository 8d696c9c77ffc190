gpuprof info -x run.gpr
