export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -c ctl -o x.gpr -- python3 -B $CLI/leaky_loop.py 30
gpuprof leaks x.gpr | mask python | grep "No stacks\|^next"
gpuprof leaks --library nothing x.gpr 2>&1 | grep hint
gpuprof run -q --stacks=all --outside-capture=stacks -c ctl -o y.gpr \
	-- python3 -B $CLI/leaky_loop.py 30
gpuprof top y.gpr | grep -c "leaky_loop.py:91"
