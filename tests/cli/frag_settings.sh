new=PYTORCH_ALLOC_CONF=expandable_segments:True
old=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
keys='not_known|largest_request_bytes|largest_after_release_bytes|block_bytes'
for s in "$new" "$old,roundup_power2_divisions:[1:1,2:4,>:4] $new" "$old,of_the_future:2"; do
	$BUILD/frag/made_memory made.gpr "$s" &&
		gpuprof frag --json --fit 200MiB made.gpr | grep -E "^ *\"($keys)\""
	gpuprof frag made.gpr | grep "^note"
	rm -f made.gpr
done
