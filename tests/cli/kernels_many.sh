$BUILD/frag/made_gpu_time a.gpr && $BUILD/frag/made_gpu_time b.gpr lost
$BUILD/frag/made_gpu_time c.gpr none
gpuprof kernels a.gpr b.gpr c.gpr
gpuprof kernels --from 2ms --to 4ms a.gpr | head -n 3
gpuprof kernels --device 1 a.gpr || echo "exit status $?"
gpuprof kernels --device 0 --from 13.44ms a.gpr
