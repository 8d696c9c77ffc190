many=$(for i in $(seq 500); do echo $DATA/h200_gpt_eager.gpr; done)
for force in "" --force; do
	for c in "dump --json" info "timeline --csv"; do
		case $c in dump*) r=$DATA/h200_gpt_eager.gpr ;; *) r=$many ;; esac
		python3 $CLI/end_writing.py SIGKILL gpuprof $c $force -o new $r |
			sed "s/new[.]....../new.X/"
		rm -f new.*
		gpuprof $c $force -o new $DATA/h200_mlp.gpr
		echo $?
		rm new
	done
done
