cd $DATA && gpuprof frag --top 4 --at 500ms --fit 40M h200_gpt_stacks.gpr
