# ten steps with three groups of calls; the kernel of one group does the work of two
$BUILD/frag/made_gpu_time made.gpr nccl
gpuprof collectives made.gpr
gpuprof collectives --top 1 --from step:2 --to step:4 made.gpr
