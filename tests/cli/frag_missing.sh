gpuprof frag none.gpr
