cd $DATA
gpuprof check --json --max-growth 0 leak_loss_list.gpr |
	sed -n 's/"stack": .*/"stack": .../;/"steps"/,$p'
gpuprof check --json --max-growth 0 h200_phases.gpr | sed -n '/"steps"/,$p'
