export LD_LIBRARY_PATH=$BUILD/fake EVERY=3
l=$CLI/leak_on_one_gpu.py
gpuprof run -q --stacks=python -o r.gpr -- python3 -B $l 40
gpuprof leaks --exit-code r.gpr >leaks.out
echo $?
gpuprof check --max-growth 0 r.gpr >out
echo $?
grep "^pass\|^FAIL\|^NOT\|^next" out | mask steps
gpuprof check --max-growth 0 --json r.gpr |
	grep -o '"check": "[a-z_]*", "device": [^,]*, "state": "[a-z ]*"'
sed 's/:.*//;1q' leaks.out
gpuprof leaks --json r.gpr | grep '"verdict"'
cp $DATA/leak_streams.gpr found.gpr
for o in "r.gpr r.gpr" "r.gpr found.gpr"; do
	gpuprof leaks $o | sed "s/, [0-9.]* KiB a step/, N/;1q"
done
