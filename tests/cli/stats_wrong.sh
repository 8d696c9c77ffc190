$BUILD/frag/made_gpu_time made.gpr
gpuprof stats -r cuda_gpu_kern_sun made.gpr
gpuprof stats -r um_sum made.gpr
gpuprof stats -r cuda_gpu_kern_sum --format xml made.gpr
gpuprof stats -r cuda_gpu_kern_sum
gpuprof stats -r cuda_gpu_kern_sum missing.gpr
# without GPU time
$BUILD/frag/made_gpu_time none.gpr none
gpuprof stats -r cuda_gpu_kern_sum none.gpr
gpuprof stats -r cuda_gpu_kern_sum --format csv none.gpr
