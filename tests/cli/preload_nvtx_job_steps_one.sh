export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --torch-ranges=off --no-symbolize -o a.gpr \
	-- $BUILD/victims/training_ranges 1 >out 2>&1
gpuprof info --steps a.gpr | grep ^steps
gpuprof info --steps --json a.gpr | sed -n '/"steps": {/s/"begin_ns.*//p'
