cd $DATA
gpuprof phases h200_clean_*_200.gpr h200_ddp.gpr h200_mlp.gpr
gpuprof phases h200_mlp.gpr h200_cupy.gpr
gpuprof phases --json h200_mlp.gpr h200_ranges.gpr | grep "schema\|file"
gpuprof phases --from 1s h200_mlp.gpr h200_ranges.gpr
gpuprof phases h200_ranges.gpr h200_phases.gpr leak_pinned.gpr leak_hooks.gpr | sed "s!  peak .*!!"
