$BUILD/frag/made_oom stream made.gpr && gpuprof oom --top 3 made.gpr
