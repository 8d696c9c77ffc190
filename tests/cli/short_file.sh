echo hello >short
for c in info dump timeline verify; do
	gpuprof $c short
	echo $?
done
