cd $DATA && gpuprof frag --at snapshot:7 h200_gpt_eager.gpr
