cd $DATA && for by in operator node library; do gpuprof top --by $by h200_inductor.gpr; done
gpuprof peak --top 5 h200_inductor.gpr
