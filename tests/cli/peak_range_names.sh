cd $DATA && gpuprof peak --of allocated --range 'step > data' h200_phases.gpr | tail -n +3
gpuprof peak --by range --of allocated --range '(outside of any range)' h200_ranges.gpr | tail -n +3
