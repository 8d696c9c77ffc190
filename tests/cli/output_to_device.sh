gpuprof export --format torch -o /dev/null $DATA/h200_mlp.gpr 2>/dev/null
echo $?
mkfifo pipe
cat pipe >copy &
gpuprof timeline --csv -o pipe $DATA/h200_mlp.gpr
wait
gpuprof timeline --csv -o named $DATA/h200_mlp.gpr
cmp copy named
ln -s nowhere/x dangling
gpuprof timeline --csv -o dangling $DATA/h200_mlp.gpr
