head -c -20 $DATA/fake-training.gpr >cut.gpr
gpuprof timeline --csv --points 16 cut.gpr 2>&1 | tail -n 3
gpuprof timeline --csv cut.gpr >/dev/null
