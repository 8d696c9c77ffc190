gpuprof graphs --json --no-stacks $DATA/h200_gpt_graph.gpr | grep -v '"name": \|"nodes": '
# with GPU time
$BUILD/frag/made_gpu_time timed.gpr
gpuprof graphs timed.gpr
gpuprof graphs --json --top 1 timed.gpr | grep -E '"(gpu_|launches|host_ns)'
