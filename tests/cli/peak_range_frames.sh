cd $DATA &&
	gpuprof peak --by range h200_libraries.gpr &&
	gpuprof top --range forward --by operator h200_gpt_stacks.gpr | head -8 &&
	cd - >/dev/null &&
	for f in h200_gpt_stacks h200_ddp h200_inductor h200_libraries h200_clean_serve; do
		gpuprof top --by range --json $DATA/$f.gpr >top.json
		gpuprof phases --json $DATA/$f.gpr >phases.json
		python3 -B $CLI/ranges_add_up.py top.json phases.json
	done
