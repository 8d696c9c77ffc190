cd $DATA &&
	gpuprof peak h200_cupy.gpr &&
	gpuprof peak --tree h200_cupy.gpr &&
	gpuprof top --by library h200_cupy.gpr
