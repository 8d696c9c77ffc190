head -c 80000 $DATA/h200_gpt_oom.gpr >cut.gpr
gpuprof oom --top 1 cut.gpr 2>&1 | head -n 5
