head -c 38000 $DATA/leak_hooks.gpr >cut.gpr
gpuprof check --max-growth 0 cut.gpr 2>/dev/null | tail -n +3
cd $DATA
gpuprof check --max-growth 0 h200_phases.gpr | tail -n +3
gpuprof check --max-growth 0 h200_calls.gpr | tail -n +3
gpuprof check --max-growth 1% leak_hooks.gpr 2>&1 | head -n 1
gpuprof check --max-growth -1 leak_hooks.gpr 2>&1 | head -n 1
