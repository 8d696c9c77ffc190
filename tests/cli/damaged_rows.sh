mkdir d
cp $DATA/h200_gpt_oom.gpr d/a.gpr
cp $DATA/fake-training.gpr d/b.gpr
{
	head -c 20000 d/b.gpr
	printf XXXX
	tail -c +20005 d/b.gpr
} >d/c.gpr
head -c 20000 d/b.gpr >d/e.gpr
for c in info peak top frag leaks timeline oom phases idle; do
	echo "== $c"
	gpuprof $c d 2>/dev/null
done
rm d/[ac].gpr
gpuprof oom d
