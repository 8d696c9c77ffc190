cd $DATA &&
	gpuprof idle h200_idle.gpr &&
	gpuprof idle --top 2 --stacks h200_idle.gpr | sed -n "/count    unused/,/more row/p" &&
	gpuprof idle --least 1000 h200_idle.gpr | sed -n 2,11p
