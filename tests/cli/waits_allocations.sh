# the GPU is idle while the host allocates; the memory of a free in each step is allocated again
for kind in allocates frees; do
	$BUILD/frag/made_gpu_time $kind.gpr $kind
	gpuprof waits $kind.gpr | sed '/^copies/,$d'
	gpuprof waits --json $kind.gpr | grep '"again": {'
done
