cd $DATA && gpuprof peak --range forward h200_phases.gpr h200_ranges.gpr
gpuprof top --range forward h200_phases.gpr h200_ranges.gpr
