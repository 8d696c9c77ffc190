cd $DATA
cat h200_mlp.gpr | gpuprof info h200_idle.gpr -
cat h200_mlp.gpr | gpuprof diff - h200_idle.gpr | sed -n 2,3p
head -c 4096 h200_mlp.gpr >$OLDPWD/x
(
	cd $OLDPWD && {
		head -c 100 x
		cat x
	} >y && {
		head -c 100 >head
		gpuprof info -
	} <y | head -n 2
)
ls -A $OLDPWD
