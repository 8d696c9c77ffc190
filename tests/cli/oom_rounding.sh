for k in "nearly" "nearly PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4" "rounded" \
	"rounded PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4"; do
	set -- $k
	rm -f made.gpr
	$BUILD/frag/made_oom $1 made.gpr $2
	gpuprof oom --details made.gpr | grep -e verdict: -e roundup
	gpuprof oom --json made.gpr | grep -o "\"help\": \"[a-z]*_\(sizes\|rounding\)"
done
