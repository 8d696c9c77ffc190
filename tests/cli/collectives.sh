# ten steps with three groups of calls; the kernel of one group does the work of two
$BUILD/frag/made_gpu_time made.gpr nccl
gpuprof collectives made.gpr
gpuprof collectives --top 1 --from step:2 --to step:4 made.gpr
gpuprof collectives --by step --top 4 --from step:3 made.gpr | sed 1,4d
gpuprof collectives --by stream --top 4 made.gpr | sed 1,4d
