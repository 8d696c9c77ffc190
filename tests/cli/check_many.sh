cd $DATA &&
	gpuprof check --max-allocated 600M fake-held.gpr h200_inductor.gpr fake-training.gpr |
	cut -c 1-100
gpuprof check --max-peak 9GiB h200_mlp.gpr no.gpr h200_calls.gpr 2>&1 | head -3
