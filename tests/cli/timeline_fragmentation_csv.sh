$BUILD/frag/made_memory made.gpr && gpuprof timeline --fragmentation --csv made.gpr
