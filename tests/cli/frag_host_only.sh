cd $DATA
gpuprof frag --at peak:pinned h200_mlp.gpr
