cd $DATA && gpuprof check --min-headroom 5% h200_gpt_oom.gpr | head -n 3
gpuprof check --min-headroom 139GiB h200_mlp.gpr
gpuprof check --min-headroom 140GiB h200_mlp.gpr | head -n 3
