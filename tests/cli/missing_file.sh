for c in info dump timeline verify; do
	gpuprof $c nowhere.gpr
	echo $?
done
