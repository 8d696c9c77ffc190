cd $DATA &&
	gpuprof phases --recorded-only fake-elsewhere.gpr &&
	gpuprof dump --kind range_close --bare fake-elsewhere.gpr | head -n 4
gpuprof dump --kind range_close --json fake-elsewhere.gpr | head -n 2
gpuprof verify fake-elsewhere.gpr
