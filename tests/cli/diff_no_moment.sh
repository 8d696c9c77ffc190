cd $DATA
gpuprof diff --from oom fake-held.gpr
gpuprof diff --at later fake-held.gpr fake-held.gpr
