export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -o a.gpr -- python3 -B $CLI/leak_until_oom.py
gpuprof oom a.gpr | sed -n "/the first time/,/^no help/p" | sed "s/at [0-9.]* [mu]*s/at T/"
gpuprof oom --json a.gpr | python3 -c '
import json, sys

a = json.load(sys.stdin)["ooms"][-1]["answer"]
print(
    a["leak"],
    a["advice"][0]["change"],
    a["advice"][0]["site"],
    [n["change"] for n in a["no_help"]],
)
'
