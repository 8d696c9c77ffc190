gpuprof peak --tree a.gpr b.gpr
