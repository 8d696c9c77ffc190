for c in late_limit first_limit; do
	$BUILD/frag/made_oom $c $c.gpr &&
		gpuprof oom --details $c.gpr | grep -e verdict: -e missing:
	gpuprof oom $c.gpr | grep fraction
	gpuprof frag $c.gpr | grep -A 1 -e "largest request that" -e "for a request"
done
