cd $DATA && gpuprof leaks --from step:53 leak_hooks.gpr | sed -n '1p;4p'
gpuprof leaks --json --from step:53 leak_hooks.gpr | grep -E 'has_verdict|suspects|samples'
gpuprof leaks --from step:52 leak_hooks.gpr | sed -n '1p;3,6p'
gpuprof leaks --from step:55 leak_hooks.gpr | sed -n 4p
gpuprof leaks h200_ranges.gpr | sed -n 4p
for n in 37 38; do
	gpuprof leaks --from step:$n leak_hooks.gpr | sed -n '1p;3p'
done
