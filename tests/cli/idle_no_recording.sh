gpuprof idle
gpuprof idle --least=much a.gpr
gpuprof idle --stacks a.gpr b.gpr
gpuprof idle missing.gpr
