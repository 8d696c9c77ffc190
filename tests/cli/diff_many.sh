cd $DATA && gpuprof diff h200_gpt_eager.gpr h200_gpt_expandable.gpr h200_gpt_graph.gpr
# the answer's change is between A and the last one, even if another change is larger between A and
# B
gpuprof diff h200_clean_train.gpr leak_hooks.gpr leak_pinned.gpr | head -n 2
