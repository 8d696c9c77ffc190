# modules of PyTorch by path: groups, the tree with sums, and the same sums as the job's own hooks
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=both -o x.gpr -- \
	python3 -B $DATA/../stacks/module_story.py expected 2 plain roots
gpuprof peak --by module --of allocated --top 6 x.gpr | sed '1d; s/, [0-9.]* ms$//'
gpuprof peak --by module --tree --of allocated x.gpr | sed -n '3,$p'
gpuprof top --by module --json x.gpr >top.json
python3 -c '
import json

expected, count = {}, {}
for size, module in json.load(open("expected")).items():
    expected[module] = expected.get(module, 0) + int(size)
    count[module] = count.get(module, 0) + 1
curves = json.load(open("top.json"))["curves"]
groups = [g for c in curves if c["of"] == "allocated" for g in c["groups"]]
for g in groups:
    key = None if g["key"] == "no module" else g["key"]
    if (g["bytes"], g["count"]) != (expected.pop(key), count.pop(key)):
        print("differs:", g["key"], g["bytes"])
print("left:", expected, "classes:", sorted({g["class"] or "-" for g in groups}))
'
gpuprof dump --json --kind block_alloc x.gpr |
	grep -o '"torch_module": "[^"]*"' |
	sort |
	uniq -c |
	sort -rn |
	head -n 3
