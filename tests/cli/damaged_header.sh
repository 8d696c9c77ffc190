{
	head -c 8 $DATA/fake-training.gpr
	printf "\002\0"
	tail -c +11 $DATA/fake-training.gpr
} >wrong
for c in info dump timeline verify; do
	gpuprof $c wrong
	echo $?
done
