# skips the launches of the kernel before that of median duration
$BUILD/frag/made_gpu_time made.gpr
gpuprof kernels --ncu 1 made.gpr
gpuprof kernels --ncu 4 made.gpr
gpuprof kernels --ncu 5 made.gpr
gpuprof kernels --ncu 1 --json made.gpr
gpuprof kernels --ncu 1 made.gpr made.gpr
