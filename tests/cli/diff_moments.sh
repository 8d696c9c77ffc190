cd $DATA && gpuprof diff --from 300ms --to 557ms --of allocated --top 3 h200_gpt_stacks.gpr
