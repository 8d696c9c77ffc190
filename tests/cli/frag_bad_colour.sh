gpuprof frag --colour stak -o x.svg $DATA/h200_mlp.gpr
