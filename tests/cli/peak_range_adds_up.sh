for f in $DATA/*.gpr; do
	gpuprof peak --by range --json $f 2>/dev/null >p.json
	gpuprof timeline --json $f 2>/dev/null >t.json
	python3 -B $CLI/peak_adds_up.py p.json t.json || echo "$f"
done
