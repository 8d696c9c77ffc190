cd $DATA && gpuprof phases --depth 2 --of driver fake-ranges.gpr
gpuprof phases --top 1 fake-ranges.gpr
