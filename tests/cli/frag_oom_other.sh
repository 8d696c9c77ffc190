$BUILD/frag/made_oom other made.gpr && gpuprof frag made.gpr
gpuprof frag --at end made.gpr | grep " free +"
