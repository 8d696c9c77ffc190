export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -o x.gpr -- python3 -B $CLI/leaky_loop.py 60 512 three
gpuprof leaks --top 1 x.gpr | grep "more\|full in" | sed "s/, full in.*//"
