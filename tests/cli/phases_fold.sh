cd $DATA && gpuprof phases --wide --fold 0 h200_phases.gpr | grep -c 'is over'
gpuprof phases --wide --fold 9 h200_phases.gpr | grep 'is over'
gpuprof phases --wide --fold 10 h200_phases.gpr | grep -c 'is over'
gpuprof phases --json h200_phases.gpr | grep -c 'step . is over'
gpuprof phases --json --fold 5 h200_phases.gpr | grep -o '"name": "step # is over".*'
gpuprof phases --fold five h200_phases.gpr 2>&1 | head -1
