for k in 1 2 3 4; do cp $DATA/fake-training.gpr rank-$k.gpr; done
{
	head -c 20000 rank-1.gpr
	printf XXXX
	tail -c +20005 rank-1.gpr
} >rank-5.gpr
gpuprof info rank-*.gpr
echo $?
gpuprof timeline rank-*.gpr
