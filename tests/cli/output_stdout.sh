cd $DATA
for c in info peak timeline "top --json" dump "export --format torch"; do
	gpuprof $c h200_mlp.gpr 2>/dev/null >$OLDPWD/a
	gpuprof $c -o - h200_mlp.gpr 2>/dev/null >$OLDPWD/b
	cmp $OLDPWD/a $OLDPWD/b && echo same
done
ls -A $OLDPWD
