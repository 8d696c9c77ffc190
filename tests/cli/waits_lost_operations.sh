# operations were lost; launches have none although no loss was counted
for kind in lost alone; do
	$BUILD/frag/made_gpu_time $kind.gpr $kind
	gpuprof waits $kind.gpr | sed -n 3p
	gpuprof waits --json $kind.gpr | grep "lost_operations\|launches_alone"
done
