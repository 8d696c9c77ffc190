cd $DATA && gpuprof dump --json fake-training.gpr | python3 -c '
import json, sys

print(len([json.loads(line) for line in sys.stdin]))
'
