$BUILD/frag/made_memory made.gpr && gpuprof frag --json made.gpr
