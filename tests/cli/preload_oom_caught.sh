export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -o a.gpr -- $BUILD/victims/oom_caught >/dev/null
gpuprof oom --json a.gpr | python3 -c '
import json, sys

for o in json.load(sys.stdin)["ooms"]:
    print(
        o["like"],
        o["framework"],
        o["bytes"],
        o["verdict"] and o["verdict"]["name"],
        [g["key"] for g in o["requester"]["groups"]] if o["verdict"] else "",
    )
'
