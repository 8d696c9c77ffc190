unset GPUPROF_STACKS
export LD_LIBRARY_PATH=$BUILD/fake
cp $DATA/../stacks/operators.py train.py
for o in "" --light "--light --stacks=python" --stacks=off; do
	echo "run $o"
	gpuprof run -q $o -o x.gpr -- python3 -B train.py
	gpuprof peak --of allocated x.gpr | grep % | head -n 2 | sed "s/ Block.forward//"
	gpuprof dump x.gpr | grep -c "main (\|_start\|libc.so" | sed "s/^[1-9].*/native frames/"
	gpuprof info x.gpr | grep "^stacks *off"
	rm x.gpr
done
GPUPROF_LIGHT=on GPUPROF_OUTPUT=y.gpr LD_PRELOAD=$PRELOAD python3 -B train.py
gpuprof peak y.gpr | grep -ci "no stack"
GPUPROF_OUTPUT=z.gpr LD_PRELOAD=$PRELOAD python3 -B train.py
gpuprof peak z.gpr | grep -ci "no stack"
