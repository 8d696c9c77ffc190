cp $DATA/fake-training.gpr a.gpr
for f in "missing a.gpr" "a.gpr missing" "missing missing"; do
	gpuprof timeline --json --points 16 $f 2>/dev/null | python3 -c '
import json, sys

print([r["file"] for r in json.load(sys.stdin)])
'
	gpuprof timeline --csv --points 16 $f 2>/dev/null | head -n 2
done
