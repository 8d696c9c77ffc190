gpuprof verify --repair clean.gpr a.gpr b.gpr
