$BUILD/frag/made_oom fragmentation made.gpr \
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:200 &&
	gpuprof oom --details made.gpr |
	sed -n "/have helped/,/a request of at most/p" |
		cut -c 1-60
$BUILD/frag/made_oom pages pages.gpr PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True &&
	gpuprof oom --details pages.gpr | grep verdict:
gpuprof oom pages.gpr | grep fraction
gpuprof frag pages.gpr | grep -e "largest request that"
