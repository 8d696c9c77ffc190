made() {
	$BUILD/frag/made_oom "$1" made.gpr $2 && gpuprof frag --at end made.gpr | grep "to do"
	rm made.gpr
}
for c in fragmentation stream capacity; do
	made $c
	made $c PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
done
cd $DATA
for f in h200_gpt_stacks h200_inductor h200_gpt_graph leak_kv_cache; do
	gpuprof frag --at peak:unused $f.gpr | grep "to do"
done
