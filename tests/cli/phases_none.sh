cd $DATA && gpuprof phases fake-training.gpr
gpuprof phases --device 0 --own-thread h200_gpt_graph.gpr
