export LD_LIBRARY_PATH=$BUILD/fake PYTHONPATH=$DATA/../cli
for how in own shared deep; do
	gpuprof run -q --stacks=python --force -o a.gpr -- python3 -B $CLI/told_apart.py $how
	echo "== $how"
	gpuprof oom a.gpr | grep "^by\|code:"
	gpuprof oom --json a.gpr | python3 -c '
import json, sys

for a in json.load(sys.stdin)["ooms"][0]["answer"]["advice"]:
    if a["site"]:
        print(a["site"])
'
done
