cd $DATA && gpuprof check --max-frag 20% h200_inductor.gpr
