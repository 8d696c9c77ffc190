$BUILD/frag/made_oom capacity made.gpr &&
	gpuprof oom --number 3 --window 100ns --top 1 made.gpr | tail -n +2 | head -n 5
gpuprof oom --number 4 made.gpr
