{
	head -c 20000 $DATA/fake-training.gpr
	printf XXXX
	tail -c +20005 $DATA/fake-training.gpr
} >flipped.gpr
cp $DATA/fake-training.gpr whole.gpr
gpuprof verify --json whole.gpr flipped.gpr 2>/dev/null | python3 -c '
import json, sys

print([(r["file"], r["ok"]) for r in json.load(sys.stdin)])
'
gpuprof verify whole.gpr flipped.gpr 2>/dev/null
