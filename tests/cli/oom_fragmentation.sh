$BUILD/frag/made_oom fragmentation made.gpr && gpuprof oom --top 3 made.gpr
