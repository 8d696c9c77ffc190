$BUILD/frag/made_oom greedy made.gpr && gpuprof frag made.gpr | grep -A 3 "for a request"
