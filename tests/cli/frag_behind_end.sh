gpuprof frag --at 5s $DATA/h200_gpt_graph.gpr | sed -n "1p;2p"
gpuprof frag --json --at 5s $DATA/h200_gpt_graph.gpr | grep "^  .at_ns"
gpuprof frag --at 1s --json $DATA/h200_gpt_graph.gpr | grep "^  .at_ns"
