GPUPROF_RING=1M gpuprof doctor --json 2>/dev/null | python3 -c '
import json, sys

d = json.load(sys.stdin)
print([o for o in d["options"] if o["variable"] in ("GPUPROF_RING", "GPUPROF_START")])
'
