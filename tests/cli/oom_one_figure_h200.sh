gpuprof oom --json --no-stacks $DATA/h200_oom_kinds.gpr | python3 -c '
import json, sys

for o in json.load(sys.stdin)["ooms"]:
    if o["verdict"]:
        print(
            o["number"],
            o["verdict"]["name"],
            o["answer"]["missing"],
            {
                x["help"]: x["bytes"]
                - (o["state"]["limit_bytes"] if x["help"] == "higher_limit" else 0)
                for x in o["helps"]
                if x["help"] in ("higher_limit", "less_in_use")
            },
            o["verdict"]["missing_bytes"] == o["answer"]["missing"],
        )
'
gpuprof oom --number 7 --details $DATA/h200_oom_kinds.gpr | sed -n "/have helped/,/empty_cache/p"
