cd $DATA
f=h200_gpt_eager.gpr
gpuprof diff --from 100s $f
echo $?
gpuprof diff --from 500ms --to 100s $f >$OLDPWD/behind
gpuprof diff --from 500ms $f >$OLDPWD/end
cmp $OLDPWD/behind $OLDPWD/end && sed -n 3p $OLDPWD/end
gpuprof diff --json --at 100s $f fake-training.gpr 2>/dev/null | grep -o "\"at_ns\": [0-9]*"
