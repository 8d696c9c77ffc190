cp $DATA/fake-held.gpr "$(printf "a\033[31m.gpr")"
gpuprof check --max-allocated 600M a*.gpr a*.gpr | grep gpr:
