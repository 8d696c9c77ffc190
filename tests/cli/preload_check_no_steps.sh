export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=off -o s.gpr -- python3 -B $CLI/no_steps.py sizes
gpuprof run -q --stacks=off --capture-range=cudaProfilerApi -o p.gpr \
	-- python3 -B $CLI/no_steps.py part
for f in s p; do
	gpuprof check --max-growth 0 $f.gpr | grep '^NOT'
	gpuprof leaks $f.gpr | grep '^No verdict'
done
