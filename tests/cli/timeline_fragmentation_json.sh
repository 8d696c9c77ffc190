$BUILD/frag/made_memory made.gpr && gpuprof timeline --fragmentation --points 16 --json made.gpr
