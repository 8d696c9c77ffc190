$BUILD/frag/made_oom untold made.gpr PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.5 &&
	gpuprof oom made.gpr | grep "^try"
$BUILD/frag/made_oom huge huge.gpr && gpuprof oom huge.gpr | sed -n "2,7p"
