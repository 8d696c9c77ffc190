{
	head -c 20000 $DATA/fake-training.gpr
	printf XXXX
	tail -c +20005 $DATA/fake-training.gpr
} >flipped.gpr
gpuprof dump flipped.gpr
