yes "no recording of ours" | head -c 9000 >foreign
for c in info dump timeline verify; do
	gpuprof $c foreign
	echo $?
done
