export LD_LIBRARY_PATH=$BUILD/fake
l=$CLI/leak_on_one_gpu.py
for n in 6 23; do
	gpuprof run -q --stacks=python -o $n.gpr -- python3 -B $l $n
	gpuprof check --max-growth 0 $n.gpr >out
	echo "$n: $?"
	grep "^NOT\|^what\|leak_on\|next" out |
		sed "
			s/: [0-9]* steps* after/: some steps after/
			s/run [0-9]* more/run more/
			s/step [0-9]* at [0-9.]* ms/step/"
done
gpuprof check --max-growth 0 --device 1 23.gpr | grep -c "leak_on"
gpuprof check --max-growth 4096 23.gpr | grep -c "leak_on\|finds no leak"
gpuprof check --json --max-growth 0 23.gpr | grep -o '"state": [^,]*\|"kind": [^,]*\|"needed.*'
