cd $DATA
gpuprof peak --of pinned leak_pinned.gpr
gpuprof peak --of pinned --at step:30 leak_pinned.gpr | sed -n 2p
gpuprof peak --of pinned h200_ddp.gpr leak_pinned.gpr | cut -c1-100
