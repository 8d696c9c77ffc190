cd $DATA && for r in foward Optimizer zzz 'step > foward' step/forward 'step>backward'; do
	gpuprof peak --range "$r" h200_phases.gpr
	gpuprof top --range "$r" h200_mlp.gpr h200_phases.gpr
	gpuprof diff --range "$r" h200_phases.gpr h200_ranges.gpr
done
for r in 'backward > forward (frames)' 'forwards > backwards'; do
	gpuprof top --range "$r" --by kind h200_libraries.gpr 2>&1 |
		sed -n '/blocks, /,/^GPU.*driver/p; /no memory/,$p'
done
