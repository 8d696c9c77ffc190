cd $DATA
b=$OLDPWD/b.json
gpuprof check --baseline $b --update fake-killed.gpr 2>&1 | tail -n 1
gpuprof check --baseline $b --update --max-peak 1M fake-held.gpr 2>&1 | tail -n 1
gpuprof check --baseline $b --update fake-held.gpr h200_jax.gpr 2>&1 | head -n 1
ls $OLDPWD
