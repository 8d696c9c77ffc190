gpuprof frag --colour poool -o x.svg $DATA/h200_mlp.gpr
