cp $DATA/h200_gpt_stacks.gpr $DATA/h200_inductor.gpr $DATA/fake-training.gpr .
d=.
gpuprof check --baseline b.json --update $d/h200_gpt_stacks.gpr &&
	gpuprof check --baseline b.json $d/h200_gpt_stacks.gpr
echo $?
gpuprof check --baseline b.json $d/fake-training.gpr
echo $?
gpuprof check --baseline b.json --update $d/fake-training.gpr >out
gpuprof check --baseline b.json --tolerance 0% $d/fake-training.gpr | tail -n 3
gpuprof check --baseline b.json $d/h200_inductor.gpr | cut -c 1-170
cut -c 1-120 b.json
