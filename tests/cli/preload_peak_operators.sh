export LD_LIBRARY_PATH=$BUILD/fake
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_STACKS=all python3 -B $DATA/../stacks/operators.py
alike() { mask classes | grep -v -E "nothing lost|GPU 0"; }
gpuprof peak --json --of allocated x.gpr | python3 -c '
import json, sys

for g in json.load(sys.stdin)["curves"][0]["groups"]:
    print(g["bytes"], g["count"], g["node"], g["outer_operator"], g["operator"], g["library"])
'
gpuprof peak --of allocated x.gpr | alike
for by in operator node; do
	gpuprof peak --of allocated --by $by x.gpr | grep % | sed "s:  (.*::"
done
gpuprof peak --of allocated --stacks --top 1 x.gpr | alike
