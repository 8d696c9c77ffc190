cd $DATA && gpuprof idle --json h200_gpt_oom.gpr | sed -n '/"has_uses"/,$p'
