gpuprof info -o "" $DATA/h200_mlp.gpr
for o in "" -; do
	gpuprof verify --repair "$o" $DATA/h200_mlp.gpr
	gpuprof run -o "$o" -- true
	echo $?
done
ls -A
