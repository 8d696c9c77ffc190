LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_VERBOSE=on GPUPROF_OUTPUT=v.gpr \
	$BUILD/victims/training_loop 2 2>&1 >/dev/null |
	sed "s|'/.*/v.gpr'|RECORDING|; s|'/.*gpuprof-ring-[-0-9]*'|RINGS|"
