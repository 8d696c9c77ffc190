export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=python -o x.gpr -- python3 -B $CLI/leak_on_one_gpu.py 60
for w in "0" "4095" "4096" "0 --device 1"; do
	gpuprof check --max-growth $w x.gpr >out
	echo "$w: $?"
	grep "pass\|FAIL\|a step since\|next" out |
		mask steps |
		sed "s/[0-9.]* KiB *[0-9.]* KiB *[0-9.]* KiB/grown/"
done
check='"check": "[a-z_]*", "device": [0-9a-z]*, "state": "[a-z]*", "value": [0-9]*'
culprit='{"device": [0-9]*, "key"'
gpuprof check --json --max-growth 0 x.gpr | grep -o "$check\|$culprit"
gpuprof run -q --stacks=python -o y.gpr -- python3 -B $CLI/leak_on_one_gpu.py 60 1048576
gpuprof check --max-growth 0 y.gpr | grep -o "FAIL.*\(PyTorch memory\|1 driver allocation\)"
