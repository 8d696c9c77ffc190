cd $DATA
gpuprof oom --json h200_oom_kinds.gpr | python3 -c '
import json, sys

c = ["setting", "environment", "configuration", "code"]
[
    print(
        o["number"],
        o["answer"]["requested"] == o["bytes"],
        o["answer"]["missing"],
        [c.index(v["cost"]) for v in o["answer"]["advice"]],
        [(v["change"], v["setting"], v["bytes"], v["sure"]) for v in o["answer"]["advice"][:1]],
        [n["change"] for n in o["answer"]["no_help"]],
    )
    if o["verdict"]
    else print(o["number"], "answer" in o)
    for o in json.load(sys.stdin)["ooms"]
]
'
