cd $DATA
gpuprof idle leak_*.gpr
gpuprof idle h200_idle.gpr leak_hooks.gpr
gpuprof idle --json h200_idle.gpr leak_hooks.gpr | grep "schema\|has_uses"
