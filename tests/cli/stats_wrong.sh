$BUILD/frag/made_gpu_time made.gpr
gpuprof stats -r cuda_gpu_kern_sun made.gpr
gpuprof stats -r um_sum made.gpr
gpuprof stats -r cuda_gpu_kern_sum -r cuda_api_sum made.gpr
gpuprof stats -r cuda_gpu_kern_sum --format csv made.gpr made.gpr
gpuprof stats -r cuda_gpu_kern_sum --format xml made.gpr
gpuprof stats -r cuda_gpu_kern_sum
gpuprof stats -r cuda_gpu_kern_sum:base made.gpr
gpuprof stats -r cuda_gpu_kern_sum --json made.gpr
gpuprof stats -r cuda_gpu_kern_sum -f json made.gpr made.gpr
gpuprof stats -r cuda_gpu_kern_sum --device 3 made.gpr || echo "exit status $?"
# without a report
gpuprof stats missing.gpr || echo "exit status $?"
gpuprof stats --wide | head -n 2
gpuprof stats -r cuda_gpu_kern_sum missing.gpr
# without GPU time
$BUILD/frag/made_gpu_time none.gpr none
gpuprof stats -r cuda_gpu_kern_sum none.gpr
for format in csv json; do
	gpuprof stats -r cuda_gpu_kern_sum,cuda_gpu_trace,nvtx_kern_sum -f $format none.gpr |
		cut -c1-60
done
gpuprof stats -r cuda_gpu_kern_sum --device 3 none.gpr
# two recordings; operations that are missing
$BUILD/frag/made_gpu_time lost.gpr lost
gpuprof stats -r cuda_gpu_mem_time_sum,nvtx_pushpop_trace lost.gpr none.gpr |
	sed -n 's/ *$//; /^ *[0-9,]*  /d; /^[^-]*$/p' | cut -c1-76
gpuprof stats -r cuda_gpu_mem_time_sum -f csv lost.gpr
