$BUILD/frag/made_oom unknown made.gpr && gpuprof oom --top 3 made.gpr
