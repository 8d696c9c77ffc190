cd $DATA &&
	gpuprof peak --top 6 h200_ddp.gpr &&
	gpuprof peak --by operator --of driver h200_ddp.gpr &&
	gpuprof top --by node h200_ddp.gpr
