cp $DATA/h200_mlp.gpr m.gpr
ln -s m.gpr link
for c in "timeline --csv" "timeline --json" info dump; do
	for o in m.gpr link ./m.gpr; do
		gpuprof $c --force -o $o m.gpr
		echo $?
	done
done
gpuprof info --force -o m.gpr $DATA/fake-training.gpr m.gpr 2>&1 | tail -n 1
cmp m.gpr $DATA/h200_mlp.gpr && ls
