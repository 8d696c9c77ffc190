cd $DATA &&
	gpuprof phases h200_clean_train.gpr &&
	gpuprof phases --recorded-only h200_clean_train.gpr | tail -6 &&
	gpuprof phases h200_clean_compile.gpr | sed -n '2p;/forward/p' &&
	gpuprof phases --json h200_clean_compile.gpr | grep forwards &&
	cd - >/dev/null &&
	gpuprof phases --json $DATA/leak_hooks.gpr >derived.json &&
	gpuprof phases --json --recorded-only $DATA/leak_hooks.gpr >told.json &&
	python3 $CLI/phases_adds_up.py derived.json told.json
