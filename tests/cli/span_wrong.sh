cd $DATA
for c in timeline dump; do
	gpuprof $c --from 2s --to 1s fake-training.gpr
	echo $?
	gpuprof $c --from 5s fake-training.gpr
	echo $?
done
gpuprof timeline --at peak --to end fake-training.gpr
