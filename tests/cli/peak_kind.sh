cd $DATA && gpuprof peak --by kind --of driver h200_gpt_expandable.gpr
