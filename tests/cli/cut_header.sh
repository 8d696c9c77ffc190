for n in 3 8 4095; do
	head -c $n $DATA/fake-training.gpr >cut
	for c in info verify; do
		gpuprof $c cut
		echo $?
	done
done
