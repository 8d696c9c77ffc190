cp $DATA/fake-training.gpr a.gpr
cp a.gpr b.gpr
gpuprof info a.gpr b.gpr
# the first OOM by the same rule as `oom`
gpuprof info $DATA/h200_gpt_oom.gpr $DATA/h200_oom_kinds.gpr | head -n 2
gpuprof info $DATA/ranks | head -n 1
