cd $DATA && gpuprof phases --json --depth 2 --top 2 fake-ranges.gpr
