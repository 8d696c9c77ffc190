export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -o x.gpr -- python3 -B $CLI/leaky_loop.py 60
gpuprof leaks --exit-code x.gpr >out
echo $?
grep -v "^next\|events, \|evidence:" out | mask steps full
gpuprof leaks --exit-code --library nothing x.gpr >/dev/null 2>&1
echo $?
