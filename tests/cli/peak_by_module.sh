# classes of the modules whose forward is running
gpuprof peak --by module --of allocated $DATA/h200_gpt_stacks.gpr
gpuprof top --by module $DATA/h200_ddp.gpr | sed -n '2,8p'
