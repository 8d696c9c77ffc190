cd $DATA &&
	gpuprof phases h200_ranges.gpr &&
	gpuprof phases h200_phases.gpr &&
	gpuprof leaks --exit-code leak_streams.gpr >/dev/null
echo $?
