cp $DATA/fake-training.gpr $DATA/h200_mlp.gpr .
cp h200_mlp.gpr before
gpuprof symbolize fake-training.gpr h200_mlp.gpr
cmp h200_mlp.gpr before
gpuprof symbolize --json h200_mlp.gpr none.gpr 2>/dev/null
