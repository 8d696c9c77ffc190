for c in capacity limit other two; do
	$BUILD/frag/made_oom $c $c.gpr && gpuprof frag $c.gpr | grep "no gap"
	gpuprof frag --json $c.gpr | grep born_at_ns
done
$BUILD/frag/made_oom fragmentation f.gpr && gpuprof frag --json f.gpr | grep born_at_ns
