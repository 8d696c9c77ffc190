$BUILD/frag/made_oom fraction made.gpr && gpuprof oom --details made.gpr | grep "a limit"
gpuprof oom --json made.gpr | grep -B 2 -A 2 higher_limit
