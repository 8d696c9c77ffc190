for rank in 0 1 2; do
	$BUILD/frag/made_gpu_time rank$rank.gpr nccl
done
$BUILD/frag/made_gpu_time rank3.gpr slow-nccl
$BUILD/frag/made_gpu_time rank4.gpr
gpuprof collectives rank*.gpr
gpuprof collectives rank4.gpr
gpuprof collectives rank4.gpr rank4.gpr
gpuprof collectives
