{
	head -c 20000 $DATA/fake-training.gpr
	printf XXXX
	tail -c +20005 $DATA/fake-training.gpr
} >flipped.gpr
gpuprof timeline --svg flipped.gpr >out.svg
echo $?
grep flaw out.svg
