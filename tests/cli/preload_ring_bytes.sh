LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --ring 1M -o w.gpr \
	-- $BUILD/victims/training_loop 120 5 &&
	gpuprof info --json w.gpr |
	awk '/bytes_per_event/ { print ($2 + 0 > 2.5 && $2 + 0 < 8) ? "plausible" : $0 }'
