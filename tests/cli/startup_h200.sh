# of format 1.8: calls are counted, but have no durations, and the program's start is unknown
gpuprof startup $DATA/h200_gpt_graph.gpr
# with stacks, and without steps
gpuprof startup --top 3 $DATA/h200_calls.gpr
# several
gpuprof startup $DATA/h200_gpt_graph.gpr $DATA/h200_jax.gpr $DATA/h200_clean_compile.gpr
