cd $DATA && gpuprof check --max-peak 1GiB --max-frag 20% --min-headroom 10% h200_gpt_stacks.gpr
