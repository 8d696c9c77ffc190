cd $DATA &&
	gpuprof check --json --max-allocated 20M --max-frag 10% fake-held.gpr |
	sed "s/, \"operator.*//" |
		cut -c 1-400
