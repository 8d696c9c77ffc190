cd $DATA
gpuprof diff --of driver --least 100M h200_gpt_stacks.gpr h200_inductor.gpr |
	sed -n "/GPU 0, driver/,\$p"
gpuprof diff --least 2G h200_gpt_stacks.gpr h200_inductor.gpr
echo $?
gpuprof diff --least much h200_gpt_stacks.gpr h200_inductor.gpr
