cd $DATA && gpuprof phases --from 30ms --to 40ms fake-ranges.gpr
gpuprof phases --depth 2 --from 20ms --to peak fake-ranges.gpr
