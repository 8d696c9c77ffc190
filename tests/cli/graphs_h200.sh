# of an older format: nodes follow from captured launches, the pool and the stacks are unknown
gpuprof graphs $DATA/h200_gpt_graph.gpr
gpuprof graphs --kernels $DATA/h200_inductor.gpr | cut -c 1-100 | head -n 12
gpuprof graphs $DATA/h200_gpt_graph.gpr $DATA/h200_gpt_eager.gpr $DATA/h200_inductor.gpr
gpuprof graphs $DATA/h200_mlp.gpr $DATA/h200_gpt_eager.gpr
