$BUILD/frag/made_oom both made.gpr &&
	gpuprof oom --details made.gpr | grep -e verdict: -e "without what"
