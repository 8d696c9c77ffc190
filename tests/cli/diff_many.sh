cd $DATA && gpuprof diff h200_gpt_eager.gpr h200_gpt_expandable.gpr h200_gpt_graph.gpr
