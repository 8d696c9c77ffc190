gpuprof startup --json --no-stacks --top 2 $DATA/h200_calls.gpr
