for c in info "info --json" "timeline --csv" "timeline --json" "timeline --svg" timeline dump; do
	gpuprof $c -o new missing.gpr 2>/dev/null
	echo $?
done
gpuprof dump --from 99h -o new $DATA/h200_mlp.gpr 2>/dev/null
echo $?
ls -A
gpuprof info -o new $DATA/h200_mlp.gpr
echo $?
ls -A
