$BUILD/frag/made_oom wide made.gpr PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21 && (
	ulimit -t 9
	gpuprof frag made.gpr | sed -n "/^for a/,\$p"
)
