LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$BUILD/fake/slow_disk.so:$PRELOAD SLOW_WHILE=$PWD/slow \
	GPUPROF_OUTPUT=a.gpr python3 $CLI/meet_oom.py look
