$BUILD/frag/made_oom capacity made.gpr && gpuprof oom --json --top 2 made.gpr
