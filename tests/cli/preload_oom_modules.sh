# oom by module: parts of repeated layers; a list of unlike modules, by class
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=both -o a.gpr -- python3 -B $CLI/model_until_oom.py
for n in 1 2; do
	gpuprof oom --number $n a.gpr | grep "^holds"
	gpuprof oom --number $n --json --no-stacks a.gpr | python3 -c '
import json, sys
for role in json.load(sys.stdin)["ooms"][0]["answer"]["roles"]:
    print(role["key"], role["bytes"] >> 20, role["count"])
    for module in role["modules"]:
        print("   ", module["key"], module["bytes"] >> 20, module["count"])'
done
# a smaller batch helps activations, not the state of an optimizer
for n in 1 2 3; do
	gpuprof oom --number $n a.gpr | grep "^batch\|smaller batch"
done
