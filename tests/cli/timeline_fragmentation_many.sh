gpuprof timeline --fragmentation a.gpr b.gpr
