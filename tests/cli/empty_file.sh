: >e
for c in info dump timeline verify; do
	gpuprof $c e
	echo $?
done
