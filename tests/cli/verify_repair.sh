{
	head -c 20000 $DATA/fake-training.gpr
	printf XXXX
	tail -c +20005 $DATA/fake-training.gpr
} >flipped.gpr
gpuprof verify --repair clean.gpr flipped.gpr
echo $?
gpuprof verify clean.gpr
echo $?
stat -c %a clean.gpr
gpuprof verify --repair clean.gpr flipped.gpr
