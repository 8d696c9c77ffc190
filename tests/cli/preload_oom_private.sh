d=$(printf "%0160d" 0)
mkdir $d
for i in 1 2 3 4 5; do
	LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_RING_DIR=/proc \
		GPUPROF_OUTPUT=$d/$i.gpr python3 $CLI/meet_oom.py die
done 2>/dev/null
for i in 1 2 3 4 5; do
	gpuprof info $d/$i.gpr | grep -o "^rings  *private"
	gpuprof oom --details $d/$i.gpr |
		grep -o "[12].00 PiB .* driver .*\|the request is larger.*"
done | sort | uniq -c
