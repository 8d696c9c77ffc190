cd $DATA && gpuprof top --json --by kind fake-held.gpr fake-training.gpr | python3 -c '
import json, sys

print(
    [
        (r["file"], [(d["of"], d["bytes"], d["freed"]) for d in r["curves"]])
        for r in json.load(sys.stdin)
    ]
)
'
