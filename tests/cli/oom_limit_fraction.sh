$BUILD/frag/made_oom fraction made.gpr && gpuprof oom made.gpr | grep fraction
gpuprof oom --json made.gpr | grep -B 4 -A 2 higher_limit
