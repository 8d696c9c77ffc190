gpuprof frag --json --map $DATA/h200_mlp.gpr
for form in --map --summary "-o map.svg" $DATA/h200_ddp.gpr; do
	gpuprof frag --by role $form $DATA/h200_mlp.gpr
done
gpuprof frag --fit 1G --map $DATA/h200_mlp.gpr
