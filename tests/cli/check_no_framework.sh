cd $DATA && gpuprof check --max-peak 1GiB --max-allocated 1GiB --max-frag 20% h200_jax.gpr
