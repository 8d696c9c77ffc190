for c in info timeline dump; do
	gpuprof $c -o nowhere/x $DATA/h200_mlp.gpr
	echo $?
	gpuprof $c --force -o /dev/full $DATA/h200_mlp.gpr
	echo $?
	gpuprof $c $DATA/h200_mlp.gpr >/dev/full
	echo $?
done
ls -A
