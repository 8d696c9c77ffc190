cd $DATA && gpuprof frag --summary --at 500ms h200_gpt_expandable.gpr
