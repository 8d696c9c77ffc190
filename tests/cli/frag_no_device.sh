cd $DATA && gpuprof frag --device 3 h200_mlp.gpr
