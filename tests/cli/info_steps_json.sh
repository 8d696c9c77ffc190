gpuprof info --steps --json $DATA/h200_gpt_expandable.gpr | sed -n '/"steps"/,/]/p'
