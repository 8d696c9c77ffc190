export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -o x.gpr -- python3 -B $CLI/pin_memory.py 2>&1 | grep peaks
gpuprof timeline x.gpr | grep "pinned  \|driver  " | sed "s/ at .*s\b/ at T/"
gpuprof peak --of pinned --by kind x.gpr | sed "1d; \$d; s/, [0-9.]* [mu]s/, T/"
gpuprof top --of pinned --by kind --within 100 x.gpr | sed "1d; \$d; s/ *[0-9.]* [mu]s / T /"
