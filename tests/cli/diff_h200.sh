cd $DATA && gpuprof diff --of allocated --top 4 h200_gpt_stacks.gpr h200_inductor.gpr
