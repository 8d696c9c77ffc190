cd $DATA &&
	gpuprof phases h200_ranges.gpr &&
	gpuprof phases h200_phases.gpr &&
	gpuprof phases --top 0 h200_phases.gpr | sed -n '/share/,/calls/p' &&
	gpuprof leaks --exit-code leak_streams.gpr >/dev/null
echo $?
