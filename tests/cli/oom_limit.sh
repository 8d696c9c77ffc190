$BUILD/frag/made_oom limit made.gpr && gpuprof oom --top 3 made.gpr
