for c in info dump timeline verify; do
	gpuprof $c
	echo $?
done
