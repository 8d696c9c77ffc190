cp $DATA/h200_gpt_stacks.gpr $DATA/h200_inductor.gpr $DATA/fake-training.gpr .
d=.
gpuprof check --baseline b.json --update $d/h200_inductor.gpr >out
gpuprof check --baseline b.json $d/h200_gpt_stacks.gpr
echo $?
gpuprof check --json --baseline b.json $d/h200_gpt_stacks.gpr | python3 -c '
import json, sys

r = json.load(sys.stdin)
print(r["state"], [(c["check"], c["value"], c["limit"]) for c in r["checks"]])
g = r["culprits"][0]["grown"]
print(len(g), g[0])
'
gpuprof check --baseline b.json --tolerance 1GiB $d/h200_gpt_stacks.gpr | tail -n 3
