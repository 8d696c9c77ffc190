# the GPU is idle while the host allocates; the memory of a free in each step is allocated again;
# the kind "other" has several reasons
for kind in allocates frees; do
	$BUILD/frag/made_gpu_time $kind.gpr $kind
	gpuprof waits $kind.gpr | sed '/^copies/,$d'
	gpuprof waits --json $kind.gpr | grep '"again": {'
	gpuprof waits --json $kind.gpr | grep -oE '"kind": "other",|"reason": .*' | paste -s
done
