cd $DATA &&
	gpuprof peak h200_jax.gpr &&
	gpuprof peak --tree h200_jax.gpr &&
	gpuprof top --by library h200_jax.gpr
