export LD_LIBRARY_PATH=$BUILD/fake
for j in forward backward steps; do
	mkdir $j
	(
		cd $j
		gpuprof run -q --stacks=python -o a.gpr -- python3 -B $CLI/layers_until_oom.py $j
		echo "== $j"
		gpuprof oom a.gpr | grep -A9 "^missing" | grep -v "^next\|^memory"
		gpuprof leaks --exit-code a.gpr |
			sed -n "1p;/^  .*: tensor (.*layers_until_oom/p;/^ *or activations/p" |
			sed "s/ at [0-9.]* [mu]*s:/:/; s,(/.*/,(,"
	)
done
