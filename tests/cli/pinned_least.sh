cd $DATA
for c in info timeline peak top; do
	echo "$c: $(gpuprof $c leak_pinned.gpr | grep -E "Host:|P +pinned" | tr -s " ")"
done
gpuprof diff leak_streams.gpr leak_pinned.gpr | grep -A 2 "^Host"
for c in info timeline "timeline --svg" peak top "diff h200_clean_train.gpr"; do
	echo "trifle in $c: $(gpuprof $c leak_streams.gpr | grep -c Host)"
done
gpuprof peak --of pinned leak_streams.gpr | grep Host
for c in info peak; do gpuprof $c --json leak_streams.gpr | grep -c '"pinned"'; done
gpuprof timeline --csv leak_streams.gpr | grep -c ",host,"
