cd $DATA && python3 -B $CLI/idle_adds_up.py $(for f in *.gpr; do
	gpuprof idle --json $f 2>/dev/null | grep -q '"has_uses": true' && echo $f
done)
