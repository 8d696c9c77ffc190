cp $DATA/fake-training.gpr a.gpr
cp a.gpr b.gpr
gpuprof info --json a.gpr b.gpr | python3 -c '
import json, sys

print([(r["file"], r["complete"]) for r in json.load(sys.stdin)])
'
