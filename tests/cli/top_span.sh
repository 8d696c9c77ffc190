cd $DATA && gpuprof top --from 13.6ms --to 13.9ms --sort live --of allocated fake-held.gpr
