cp $DATA/fake-held.gpr .
cp $CLI/overwritten.gpr w.gpr
gpuprof diff --of allocated fake-held.gpr w.gpr | grep -E "^B:|, peak"
gpuprof diff --json w.gpr fake-held.gpr | tr -d "\n " | grep -o "overwritten[^]]*"
gpuprof check --max-allocated 64MiB w.gpr | tail -n 1
gpuprof check --max-allocated 1M w.gpr | sed -n "s/-- .*/-- .../;3,\$p"
gpuprof check --baseline b.json --update w.gpr | tail -n 1
grep -o "groups.*" b.json
