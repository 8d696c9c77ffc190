export LD_LIBRARY_PATH=$BUILD/fake
for k in a b; do
	gpuprof run -q --stacks=native -o $k.gpr -- $BUILD/victims/training_loop 3 >out
done
gpuprof run -q --stacks=native -o c.gpr -- $BUILD/victims/leak_two >out
gpuprof diff a.gpr b.gpr | head -n 1
gpuprof diff --json a.gpr b.gpr | grep -E "\"(changed|unchanged|different)\""
gpuprof diff --of driver a.gpr c.gpr >out
echo $?
gpuprof diff --of driver --by library a.gpr c.gpr | sed -n "/each at/,\$p"
