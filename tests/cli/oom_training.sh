$BUILD/frag/made_oom training made.gpr && gpuprof oom made.gpr
gpuprof oom --json made.gpr | grep -e '"roles"' -e '"batch"'
