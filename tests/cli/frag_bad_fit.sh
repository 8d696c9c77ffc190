gpuprof frag --fit much $DATA/h200_mlp.gpr
