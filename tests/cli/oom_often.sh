$BUILD/frag/made_oom often made.gpr && (
	ulimit -t 40
	gpuprof oom --details made.gpr | sed -n "3p;62,66p"
	gpuprof oom --json made.gpr | python3 -c '
import json, sys

o = json.load(sys.stdin)["ooms"]
print(
    len(o), sum((1 for k in o if k["verdict"])), sum((1 for k in o if k["like"] == k["number"]))
)
'
)
