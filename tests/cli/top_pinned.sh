cd $DATA
gpuprof top --of pinned --by line leak_pinned.gpr
gpuprof top --of pinned h200_ddp.gpr leak_pinned.gpr | cut -c1-90
