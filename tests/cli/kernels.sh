# kernels of ten steps and three graphs, in two threads
$BUILD/frag/made_gpu_time made.gpr
gpuprof kernels made.gpr
gpuprof kernels --top 1 --stacks made.gpr
# operations and launches that do not fit each other are counted
$BUILD/frag/made_gpu_time lost.gpr lost
gpuprof kernels lost.gpr
