$BUILD/frag/made_gpu_time made.gpr nccl
gpuprof collectives --json made.gpr
