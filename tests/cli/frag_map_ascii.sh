$BUILD/frag/made_memory made.gpr && LC_ALL=C gpuprof frag --map --columns 80 made.gpr
