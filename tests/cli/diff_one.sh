cd $DATA
gpuprof diff fake-held.gpr
gpuprof diff 2>&1 | head -n 1
gpuprof diff --from 1ms a.gpr b.gpr 2>&1 | head -n 1
gpuprof diff --to 1ms a.gpr 2>&1 | head -n 1
gpuprof diff --at end --from 1s a.gpr 2>&1 | head -n 1
