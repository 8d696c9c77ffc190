cd $DATA &&
	gpuprof diff --from step:10 --to step:50 --of allocated leak_hooks.gpr |
	sed -n "/GPU 0, alloc/,\$p"
