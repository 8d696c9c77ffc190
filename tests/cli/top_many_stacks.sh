gpuprof top --stacks a.gpr b.gpr
