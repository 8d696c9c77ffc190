for i in 1 2 3 4 5; do
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_RING_DIR=$PWD GPUPROF_VERBOSE=1 \
		GPUPROF_OUTPUT=$i.gpr python3 $CLI/meet_oom.py late 2>&1 |
		grep -o "no room for more rings"
done
for i in 1 2 3 4 5; do
	gpuprof oom --details $i.gpr | grep -o "[12].00 PiB .* driver .*\|the request is larger.*"
done | sort | uniq -c
