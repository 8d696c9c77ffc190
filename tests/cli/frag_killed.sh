cd $DATA && gpuprof frag --at end fake-killed.gpr | head -n 6
