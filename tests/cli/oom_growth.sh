$BUILD/frag/made_oom growth made.gpr && gpuprof oom --top 3 made.gpr
