export LD_LIBRARY_PATH=$BUILD/fake
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_STACKS=all python3 -B $DATA/../stacks/operators.py
for n in "" --native; do
	gpuprof dump --json --kind block_alloc $n x.gpr | python3 -c '
import json, sys

stacks = [json.loads(line)["stack"] for line in sys.stdin]
stacks = [
    s for s in stacks if any((f["file"] and f["file"].endswith("operators.py") for f in s))
]
print(
    len(stacks),
    "stacks with Python, begun by",
    {s[-1]["function"] == "<module>" for s in stacks},
)
'
done
