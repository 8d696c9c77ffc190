$BUILD/frag/made_oom growth made.gpr && gpuprof oom --window 400ns --json made.gpr | python3 -c '
import json, sys

o = json.load(sys.stdin)["ooms"][0]
print(
    o["grew"]["from_ns"],
    [(g["bytes"], g["before_bytes"], g["grown_bytes"]) for g in o["grew"]["groups"]],
)
'
