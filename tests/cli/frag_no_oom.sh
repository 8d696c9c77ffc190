cd $DATA && gpuprof frag --at oom h200_gpt_eager.gpr
