for r in off on; do
	GPUPROF_TORCH_RANGES=$r GPUPROF_OUTPUT=a.gpr LD_PRELOAD=$PRELOAD \
		$BUILD/entry_points/engine_missing
	echo $?
done
