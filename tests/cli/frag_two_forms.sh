gpuprof frag --json --map $DATA/h200_mlp.gpr
