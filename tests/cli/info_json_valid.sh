gpuprof info --json $DATA/fake-training.gpr | python3 -c '
import json, sys

d = json.load(sys.stdin)
print(d["complete"], d["self_check"])
'
