export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=python -o s.gpr -- python3 -B $CLI/swinging_buffer.py 70
gpuprof check --max-growth 0 s.gpr |
	tail -n +3 |
	sed "
		s/steps [0-9]* to/steps to/
		s/step [0-9]* *step [0-9]* */steps  /
		s/step:[0-9]*/step/
		s/[0-9.]* KiB *[0-9.]* KiB *[0-9.]* KiB/grown/"
gpuprof leaks s.gpr | grep -o "^No leak found"
gpuprof run -q -o l.gpr -- python3 -B $CLI/swinging_buffer.py 80 late
gpuprof check --max-growth 0 --device 1 l.gpr | grep NOT
gpuprof run -q --stacks=python -o b.gpr -- python3 -B $CLI/swinging_buffer.py 50 leaking
grown='a step since.*py:[0-9]*\|[0-9.]* KiB  swinging.*'
for limit in 0 600; do
	gpuprof check --max-growth $limit b.gpr >out
	echo "$limit: $?"
	grep -o "^FAIL\|^NOT JUDGED\|sure to grow[^,]*\|$grown" out |
		sed "s/since.*(.*cli/since (cli/; s/[0-9.]* KiB  /grown /"
done
