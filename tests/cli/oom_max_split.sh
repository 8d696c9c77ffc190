$BUILD/frag/made_oom split made.gpr &&
	gpuprof oom --details made.gpr | grep -A 5 -e verdict: -e "have helped"
