$BUILD/frag/made_oom other made.gpr && gpuprof oom --top 3 made.gpr
