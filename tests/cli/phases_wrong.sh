cd $DATA
gpuprof phases --of reserved fake-ranges.gpr
gpuprof phases --device 3 fake-ranges.gpr
gpuprof phases --device x fake-ranges.gpr
gpuprof phases --from 3s fake-ranges.gpr
gpuprof phases --depth x fake-ranges.gpr
