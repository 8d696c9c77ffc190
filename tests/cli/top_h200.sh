cd $DATA && gpuprof top --by kind --within 100us h200_gpt_eager.gpr
