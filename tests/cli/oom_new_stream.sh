$BUILD/frag/made_oom newcomer made.gpr &&
	gpuprof oom --details made.gpr | sed -n "/verdict:/,/blocks pinning/p"
gpuprof frag made.gpr | sed -n "/largest request that/,\$p"
