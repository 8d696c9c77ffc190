cd $DATA
gpuprof diff --device 3 fake-held.gpr fake-held.gpr
gpuprof diff --library NCCL fake-held.gpr fake-held.gpr
gpuprof diff --device 5 --from 1ms fake-held.gpr
gpuprof diff --device 3 fake-held.gpr h200_jax.gpr h200_ddp.gpr
