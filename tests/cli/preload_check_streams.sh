export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=python -o s.gpr -- python3 -B $DATA/../stacks/leak_streams.py
gpuprof check --max-growth 1MiB s.gpr >out
echo $?
grep -o "FAIL.*" out | mask steps
gpuprof check --json --max-growth 0 s.gpr |
	grep -o "\"check\": \"max_growth_objects\", \"device\": 0, \"state\": \"exceeded\""
