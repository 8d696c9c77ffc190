export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --ring 1M -o x.gpr -- python3 -B $CLI/pin_memory.py 3000000
gpuprof timeline x.gpr | grep "pinned  " | sed "s/ at .*s, / at T, /"
gpuprof peak --of pinned x.gpr | grep "^Host\|at least" | mask times
