$BUILD/frag/made_oom capacity made.gpr PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync &&
	gpuprof oom --details made.gpr | sed -n 2p
gpuprof oom --json made.gpr | grep -m 1 not_known
