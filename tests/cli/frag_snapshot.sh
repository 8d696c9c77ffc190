$BUILD/frag/made_memory made.gpr && gpuprof frag --at snapshot:0 --fit 41M made.gpr | tail -n 4
