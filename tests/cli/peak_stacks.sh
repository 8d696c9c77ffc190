cd $DATA && gpuprof peak --stacks --of driver --at end fake-held.gpr
