cd $DATA && LC_ALL=C.UTF-8 gpuprof timeline --fragmentation --columns 80 --rows 8 h200_gpt_eager.gpr
