export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake
say() {
	gpuprof run -q --no-symbolize -o $1.gpr -- $BUILD/victims/report_again >/dev/null
	gpuprof dump $1.gpr | grep -c "fact key=17"
	gpuprof dump $1.gpr | sed -n "s/.*fact key=17//p"
}
say none
PYTORCH_ALLOC_CONF=expandable_segments:True say new
PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 say old
PYTORCH_ALLOC_CONF=expandable_segments:True \
	PYTORCH_CUDA_ALLOC_CONF="roundup_power2_divisions:[256:1,>:8]" say both
