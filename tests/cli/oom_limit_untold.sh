$BUILD/frag/made_oom untold made.gpr &&
	gpuprof oom --details made.gpr | grep verdict:
gpuprof oom made.gpr | grep fraction
gpuprof oom --json made.gpr | grep limit_bytes
gpuprof frag --json made.gpr | grep limit_bytes
gpuprof frag made.gpr | grep "for a request"
