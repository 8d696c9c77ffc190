$BUILD/frag/made_oom capacity made.gpr && gpuprof oom --top 3 made.gpr
