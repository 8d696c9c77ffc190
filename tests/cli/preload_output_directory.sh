mkdir here &&
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=here \
		$BUILD/victims/leak_two 2>&1 |
	sed "s|'/.*/here'|HERE|"
find here
