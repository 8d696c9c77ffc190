gpuprof peak --of reserved a.gpr b.gpr
