$BUILD/frag/made_gpu_time none.gpr none
gpuprof kernels none.gpr
$BUILD/frag/made_gpu_time refused.gpr refused
gpuprof kernels refused.gpr
gpuprof kernels none.gpr refused.gpr
gpuprof kernels
gpuprof kernels --by nme none.gpr
gpuprof kernels missing.gpr
