cd $DATA && gpuprof leaks --json leak_loss_list.gpr | sed 's/"stack": .*/"stack": .../'
