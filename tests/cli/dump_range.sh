cd $DATA && gpuprof dump --range 'step > data' --limit 3 h200_phases.gpr | sed 's/.*t1/t1/'
gpuprof dump --json h200_phases.gpr >$OLDPWD/all
for r in optimizer 'Optimizer.st*' 'step > forward' '(outside of any range)'; do
	gpuprof dump --json --range "$r" h200_phases.gpr | wc -l
done
grep -c '"ranges": \[.*"optimizer"' $OLDPWD/all
grep -c '"ranges": \["step", "forward"\]' $OLDPWD/all
grep -c '"ranges": \[\]' $OLDPWD/all
{
	gpuprof dump --range forward --kind oom -o $OLDPWD/x h200_phases.gpr
	ls $OLDPWD
	gpuprof dump --json --range forward h200_mlp.gpr
	gpuprof dump --bare --range forward h200_phases.gpr | head -n 1
}
