cp $DATA/h200_mlp.gpr .
gpuprof frag --at oom:3 h200_mlp.gpr
gpuprof oom --number 3 h200_mlp.gpr
