$BUILD/frag/made_oom cache made.gpr && gpuprof oom --top 3 made.gpr
