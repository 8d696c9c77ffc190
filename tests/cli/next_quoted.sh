cp $DATA/fake-training.gpr "it's my run.gpr"
gpuprof info "it's my run.gpr" | tail -n 1
