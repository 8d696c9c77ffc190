export LD_LIBRARY_PATH=$BUILD/fake
for j in served trained kept; do
	mkdir $j
	(
		cd $j
		gpuprof run -q --stacks=python -o a.gpr -- python3 -B $CLI/layers_until_oom.py $j
		echo "== $j"
		gpuprof leaks --exit-code a.gpr >out 2>&1
		echo $?
		sed -n "1p;/layers_until_oom.py:/p;/hint/p" out |
			sed "s/ at [0-9.]* [mu]*s:/:/; s,(/.*/,(,; s/ full in .* rate/ full in T/"
		gpuprof leaks --json a.gpr | python3 -c '
import json, sys

o = json.load(sys.stdin)
print(o["answer"][:24], o["has_verdict"], [l["may_be_activations"] for l in o["suspects"]])
'
	)
done
