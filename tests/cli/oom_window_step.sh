cd $DATA &&
	gpuprof oom --window step --top 2 h200_gpt_oom.gpr |
	grep -A3 "^  Growth since\|^  No growth"
gpuprof oom --window step --json h200_gpt_oom.gpr | python3 -c '
import json, sys

o = json.load(sys.stdin)
g = o["ooms"][0]["grew"]
print(o["no_steps"], g["step"], g["from_ns"])
'
gpuprof info --steps --json h200_gpt_oom.gpr | python3 -c '
import json, sys

print(json.load(sys.stdin)["steps"]["begin_ns"][2])
'
gpuprof oom --window step --number 1 h200_oom_kinds.gpr |
	grep "^no steps\|^  Growth since\|^  No growth"
gpuprof oom --details --number 1 h200_oom_kinds.gpr |
	grep "^no steps\|^  Growth since\|^  No growth"
