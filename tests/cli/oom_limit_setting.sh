$BUILD/frag/made_oom untold made.gpr PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.5 &&
	gpuprof oom --details made.gpr | grep -e "not known" -e verdict: -e "a limit"
gpuprof oom made.gpr | grep fraction
gpuprof frag made.gpr | grep "largest request that"
rm made.gpr
$BUILD/frag/made_oom late_limit made.gpr PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.25 &&
	gpuprof oom --details made.gpr | grep verdict:
