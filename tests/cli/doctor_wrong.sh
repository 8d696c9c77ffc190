GPUPROF_LIB=nowhere.so GPUPROF_RINGS=1 GPUPROF_OUTPUT=nowhere/x.gpr gpuprof doctor 2>&1 |
	grep -E "^(gpuprof:|hint:|[a-z]+ +(library|recording|variables) )"
GPUPROF_OUTPUT=nowhere/x.gpr gpuprof doctor >/dev/null 2>&1
