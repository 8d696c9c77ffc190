pick() { python3 -B $CLI/json_pick.py "$1"; }
unset GPUPROF_STACKS
export LD_LIBRARY_PATH=$BUILD/fake
export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
for o in "" --stacks=native --stacks=python --light; do
	echo "run $o"
	gpuprof run -q $o -o x.gpr -- $BUILD/victims/malloc_async 20
	gpuprof info x.gpr | grep "^allocator\|^peaks\|^self-check" | mask times
	gpuprof info --json x.gpr | pick "{k: o[k] for k in ('framework_blocks', 'async_why')}"
	rm x.gpr
done
unset PYTORCH_CUDA_ALLOC_CONF
echo "another backend, whose calls are not PyTorch's"
gpuprof run -q --light -o x.gpr -- $BUILD/victims/malloc_async 20
gpuprof info x.gpr | grep "^allocator"
rm x.gpr
gpuprof run -q -o x.gpr -- $BUILD/victims/malloc_async 20
gpuprof peak x.gpr | mask times | sed "s/at peak, .*$/at peak/"
gpuprof timeline --json x.gpr | pick "[
	o['devices'][0][k + '_peak_bytes'] for k in ('allocated', 'reserved', 'driver')]"
gpuprof frag --at peak:allocated x.gpr | grep "reserved\|driver memory" | mask times
gpuprof frag --at peak:allocated --json x.gpr | pick "{
	k: o['devices'][0][k] for k in ('requested_bytes', 'owners')}"
gpuprof verify x.gpr | mask times
