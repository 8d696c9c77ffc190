cd $DATA
gpuprof frag --fit 1000G h200_gpt_oom.gpr | grep "for a request"
gpuprof frag --columns 3 x.gpr
gpuprof frag --device 99 x.gpr 2>&1 | head -n 1
