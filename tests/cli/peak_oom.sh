cd $DATA && gpuprof peak --at oom --of allocated h200_gpt_oom.gpr
