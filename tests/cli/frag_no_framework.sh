cd $DATA && gpuprof frag h200_mlp.gpr
