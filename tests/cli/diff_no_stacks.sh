cd $DATA
gpuprof diff --of allocated h200_gpt_stacks.gpr h200_gpt_eager.gpr | grep -E "stacks|no stack"
