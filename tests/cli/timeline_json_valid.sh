gpuprof timeline --json $DATA/fake-training.gpr | python3 -c '
import json, sys

d = json.load(sys.stdin)["devices"][0]
print(
    d["allocated_peak_bytes"],
    max((p[3] for p in d["points"])),
    max((p[2] for p in d["points"])) == d["reserved_peak_bytes"],
)
'
