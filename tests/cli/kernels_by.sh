$BUILD/frag/made_gpu_time made.gpr
for by in library operator line module range phase; do
	gpuprof kernels --by $by made.gpr | sed -n '1p; /share/,$p'
done
# without stacks of launches: the run that records them
$BUILD/frag/made_gpu_time bare.gpr without-stacks
gpuprof kernels --by line bare.gpr
