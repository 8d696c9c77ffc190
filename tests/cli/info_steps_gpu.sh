$BUILD/frag/made_gpu_time made.gpr
gpuprof info --steps made.gpr | sed -n '/^steps/,/^lost/p'
