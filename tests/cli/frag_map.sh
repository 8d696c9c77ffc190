cd $DATA && LC_ALL=C.UTF-8 gpuprof frag --map --columns 60 h200_gpt_eager.gpr --at 500ms
