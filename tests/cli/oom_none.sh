cd $DATA && gpuprof oom h200_gpt_eager.gpr && gpuprof oom --json h200_mlp.gpr | tail -n 6
